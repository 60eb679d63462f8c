package perfevent

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// Sizes and places in a record, in bytes. Every record starts with a header of
// type (32 bit), misc and size (16 bit each). With fixedSample a sample goes on
// with id, ip, pid and tid, time; every other record ends with pid and tid,
// time, cpu, id.
const (
	headerSize     = 8
	trailerSize    = 32
	sampleTimeAt   = 32
	trailerTimeAt  = 24 // from the end
	minSampleSize  = 48
	minOtherSize   = headerSize + trailerSize
	maxRecordSize  = 1<<16 - 8 // size is a multiple of 8 in 16 bits
	buildIDMaxSize = 20
)

// Decode decodes the record that fills b. It never reads outside b, whatever b
// holds, and does not allocate unless it fails. The record is the decoder's own and is
// used again by the next call; its slices lie in b.
func (d *Decoder) Decode(b []byte) (Record, error) {
	if len(b) < minOtherSize {
		return nil, errShort
	}
	le := binary.LittleEndian
	kind := RecordType(le.Uint32(b))
	if kind == unix.PERF_RECORD_SAMPLE {
		return d.decodeSample(b)
	}
	body := b[headerSize : len(b)-trailerSize]
	t := b[len(b)-trailerSize:]
	h := Header{Type: kind, Misc: le.Uint16(b[4:]), PID: le.Uint32(t), TID: le.Uint32(t[4:]),
		Time: le.Uint64(t[8:]), CPU: le.Uint32(t[16:]), ID: le.Uint64(t[24:])}
	r, need := d.decodeOther(h, body)
	if need > len(body) {
		return nil, fmt.Errorf("record type %d of %d bytes: %w", h.Type, len(b), errShort)
	}
	if r == nil {
		return nil, ErrUnknownRecord
	}
	return r, nil
}

// decodeOther decodes every record but samples. A body shorter than the second
// result was not decoded. The record is nil for a type that is not known.
func (d *Decoder) decodeOther(h Header, body []byte) (Record, int) {
	le := binary.LittleEndian
	switch h.Type {
	case unix.PERF_RECORD_MMAP, unix.PERF_RECORD_MMAP2:
		return d.decodeMmap(h, body)
	case unix.PERF_RECORD_COMM:
		if len(body) < 8 {
			return nil, 8
		}
		d.comm = Comm{Header: h, PID: le.Uint32(body), TID: le.Uint32(body[4:]),
			Exec: h.Misc&unix.PERF_RECORD_MISC_COMM_EXEC != 0, Name: cString(body[8:])}
		return &d.comm, 8
	case unix.PERF_RECORD_FORK, unix.PERF_RECORD_EXIT:
		if len(body) < 24 {
			return nil, 24
		}
		f := Fork{Header: h, PID: le.Uint32(body), PPID: le.Uint32(body[4:]),
			TID: le.Uint32(body[8:]), PTID: le.Uint32(body[12:])}
		if h.Type == unix.PERF_RECORD_EXIT {
			d.exit = Exit(f)
			return &d.exit, 24
		}
		d.fork = f
		return &d.fork, 24
	case unix.PERF_RECORD_LOST:
		if len(body) < 16 {
			return nil, 16
		}
		d.lost = Lost{Header: h, EventID: le.Uint64(body), Lost: le.Uint64(body[8:])}
		return &d.lost, 16
	case unix.PERF_RECORD_LOST_SAMPLES:
		if len(body) < 8 {
			return nil, 8
		}
		d.lostSample = LostSamples{Header: h, Lost: le.Uint64(body)}
		return &d.lostSample, 8
	case unix.PERF_RECORD_THROTTLE, unix.PERF_RECORD_UNTHROTTLE:
		if len(body) < 24 {
			return nil, 24
		}
		d.throttle = Throttle{Header: h, Unthrottle: h.Type == unix.PERF_RECORD_UNTHROTTLE, EventID: le.Uint64(body[8:])}
		return &d.throttle, 24
	case unix.PERF_RECORD_SWITCH, unix.PERF_RECORD_SWITCH_CPU_WIDE:
		return d.decodeSwitch(h, body)
	case unix.PERF_RECORD_NAMESPACES:
		if len(body) < 16 {
			return nil, 16
		}
		n := le.Uint64(body[8:])
		if n > uint64(len(body)-16)/16 {
			return nil, len(body) + 1
		}
		d.namespaces = Namespaces{Header: h, PID: le.Uint32(body), TID: le.Uint32(body[4:]),
			Links: namespacesOf(words(body[16 : 16+n*16]))}
		return &d.namespaces, 16
	case unix.PERF_RECORD_CGROUP:
		if len(body) < 8 {
			return nil, 8
		}
		d.cgroup = Cgroup{Header: h, CgroupID: le.Uint64(body), Path: cString(body[8:])}
		return &d.cgroup, 8
	case unix.PERF_RECORD_KSYMBOL:
		if len(body) < 16 {
			return nil, 16
		}
		const unregister = 1 // PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER
		d.ksymbol = Ksymbol{Header: h, Addr: le.Uint64(body), Len: le.Uint32(body[8:]), Kind: le.Uint16(body[12:]),
			Unregister: le.Uint16(body[14:])&unregister != 0, Name: cString(body[16:])}
		return &d.ksymbol, 16
	case unix.PERF_RECORD_TEXT_POKE:
		return d.decodeTextPoke(h, body)
	}
	return nil, 0
}

func (d *Decoder) decodeMmap(h Header, body []byte) (Record, int) {
	le := binary.LittleEndian
	const short, long = 32, 64 // MMAP, MMAP2
	need := short
	if h.Type == unix.PERF_RECORD_MMAP2 {
		need = long
	}
	if len(body) < need {
		return nil, need
	}
	d.mmap = Mmap{Header: h, PID: le.Uint32(body), TID: le.Uint32(body[4:]),
		Addr: le.Uint64(body[8:]), Len: le.Uint64(body[16:]), Pgoff: le.Uint64(body[24:]),
		Filename: cString(body[need:])}
	if need == short {
		return &d.mmap, need
	}
	d.mmap.Prot, d.mmap.Flags = le.Uint32(body[56:]), le.Uint32(body[60:])
	if h.Misc&unix.PERF_RECORD_MISC_MMAP_BUILD_ID != 0 {
		size := min(int(body[32]), buildIDMaxSize)
		d.mmap.BuildID = body[36 : 36+size]
		return &d.mmap, need
	}
	d.mmap.Major, d.mmap.Minor = le.Uint32(body[32:]), le.Uint32(body[36:])
	d.mmap.Inode, d.mmap.InodeGeneration = le.Uint64(body[40:]), le.Uint64(body[48:])
	return &d.mmap, need
}

func (d *Decoder) decodeSwitch(h Header, body []byte) (Record, int) {
	d.switched = Switch{Header: h,
		Out:     h.Misc&unix.PERF_RECORD_MISC_SWITCH_OUT != 0,
		Preempt: h.Misc&unix.PERF_RECORD_MISC_SWITCH_OUT_PREEMPT != 0}
	if h.Type == unix.PERF_RECORD_SWITCH {
		return &d.switched, 0
	}
	if len(body) < 8 {
		return nil, 8
	}
	d.switched.CPUWide = true
	d.switched.OtherPID = binary.LittleEndian.Uint32(body)
	d.switched.OtherTID = binary.LittleEndian.Uint32(body[4:])
	return &d.switched, 8
}

func (d *Decoder) decodeTextPoke(h Header, body []byte) (Record, int) {
	if len(body) < 12 {
		return nil, 12
	}
	before := int(binary.LittleEndian.Uint16(body[8:]))
	after := int(binary.LittleEndian.Uint16(body[10:]))
	need := 12 + before + after
	if len(body) < need {
		return nil, need
	}
	d.textPoke = TextPoke{Header: h, Addr: binary.LittleEndian.Uint64(body),
		Old: body[12 : 12+before], New: body[12+before : need]}
	return &d.textPoke, need
}

// cString cuts b before its first NUL; the kernel pads with NULs to a multiple
// of 8.
func cString(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

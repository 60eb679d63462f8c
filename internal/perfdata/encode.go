package perfdata

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// Encoder makes the bytes of records: those that perf wants about what happened before the
// recording (mappings, names and parents of threads), and samples whose contents were changed. A
// Decoder of the same events gives the same records back.
type Encoder struct {
	events []perfevent.EventAttr
}

// NewEncoder returns an encoder of records for a recording of events.
func NewEncoder(events []Event) (*Encoder, error) {
	if _, err := decoderOf(events); err != nil {
		return nil, err
	}
	return &Encoder{attrsOf(events)}, nil
}

// KernelMmap returns the record that says where the kernel or a module is. The kernel is called
// "[kernel.kallsyms]_text", and pgoff is the address of the symbol after the "]". A module is
// called "[name]", or by its file's path, and pgoff is 0. addr and length are in bytes.
func KernelMmap(filename string, addr, length, pgoff uint64) *perfevent.Mmap {
	return &perfevent.Mmap{Header: perfevent.Header{Type: unix.PERF_RECORD_MMAP, Misc: unix.PERF_RECORD_MISC_KERNEL},
		PID: ^uint32(0), Addr: addr, Len: length, Pgoff: pgoff, Filename: []byte(filename)}
}

// Append appends the bytes of r to b: a *Sample, *Mmap, *Comm, *Fork, *Exit, *Lost or *LostSamples.
//
// Header.Type is only used for an *Mmap, which is an MMAP2 unless Type is MMAP. The bits of
// Header.Misc that other fields imply are set. The record belongs to the event with the id
// Header.ID, or to the first one. A sample belongs to the event Sampling, which determines its
// fields. Records about what happened before the recording have the time 0 and the id 0.
//
// Append returns an error, and b as it was, if the record does not fit in 64 KiB, or if the event's
// samples have fields that perfevent.Sample does not keep.
func (e *Encoder) Append(b []byte, r perfevent.Record) ([]byte, error) {
	at := len(b)
	h := r.Common()
	kind, misc := h.Type, h.Misc
	b = append(b, make([]byte, headerSize)...)
	var err error
	switch r := r.(type) {
	case *perfevent.Sample:
		kind = unix.PERF_RECORD_SAMPLE
		b, err = e.appendSample(b, r)
	case *perfevent.Mmap:
		kind, misc, b, err = appendMmap(b, r)
	case *perfevent.Comm:
		kind = unix.PERF_RECORD_COMM
		setMisc(&misc, unix.PERF_RECORD_MISC_COMM_EXEC, r.Exec)
		b = appendName(appendPair(b, r.PID, r.TID), r.Name)
	case *perfevent.Fork:
		kind = unix.PERF_RECORD_FORK
		b = appendFork(b, r)
	case *perfevent.Exit:
		kind = unix.PERF_RECORD_EXIT
		b = appendFork(b, (*perfevent.Fork)(r))
	case *perfevent.Lost:
		kind = unix.PERF_RECORD_LOST
		b = appendWords(b, r.EventID, r.Lost)
	case *perfevent.LostSamples:
		kind = unix.PERF_RECORD_LOST_SAMPLES
		b = appendWords(b, r.Lost)
	default:
		err = fmt.Errorf("encode a record of type %T: not supported", r)
	}
	if err != nil {
		return b[:at], err
	}
	if kind != unix.PERF_RECORD_SAMPLE {
		b = appendTrailer(b, h, &e.eventOf(h.ID).Attr)
	}
	if len(b)-at > maxRecord {
		return b[:at], fmt.Errorf("encode a record of %d bytes: %w", len(b)-at, errTooLong)
	}
	putHeader(b[at:], uint32(kind), misc)
	return b, nil
}

// eventOf returns the event with an id, or else the first one.
func (e *Encoder) eventOf(id uint64) *perfevent.EventAttr {
	i := slices.IndexFunc(e.events, func(e perfevent.EventAttr) bool { return slices.Contains(e.IDs, id) })
	return &e.events[max(i, 0)]
}

func setMisc(misc *uint16, bit uint16, on bool) {
	if *misc &^= bit; on {
		*misc |= bit
	}
}

// appendPair appends two 32 bit numbers.
func appendPair(b []byte, x, y uint32) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, x), y)
}

// appendName appends a name with zeros, at least one, up to a multiple of 8 bytes. It cuts the
// name at its first zero.
func appendName(b, name []byte) []byte {
	text := cString(name)
	return append(append(b, text...), make([]byte, 8-len(text)%8)...)
}

func appendFork(b []byte, r *perfevent.Fork) []byte {
	return appendWords(appendPair(appendPair(b, r.PID, r.PPID), r.TID, r.PTID), r.Time)
}

func appendMmap(b []byte, r *perfevent.Mmap) (perfevent.RecordType, uint16, []byte, error) {
	misc := r.Misc
	b = appendWords(appendPair(b, r.PID, r.TID), r.Addr, r.Len, r.Pgoff)
	if r.Type == unix.PERF_RECORD_MMAP {
		return r.Type, misc, appendName(b, r.Filename), nil
	}
	setMisc(&misc, unix.PERF_RECORD_MISC_MMAP_BUILD_ID, r.BuildID != nil)
	if r.BuildID == nil {
		b = appendWords(appendPair(b, r.Major, r.Minor), r.Inode, r.InodeGeneration)
	} else {
		if len(r.BuildID) > longestBuildID {
			return 0, 0, b, fmt.Errorf("build id of %d bytes is longer than %d", len(r.BuildID), longestBuildID)
		}
		b = append(append(b, byte(len(r.BuildID)), 0, 0, 0), r.BuildID...)
		b = append(b, make([]byte, longestBuildID-len(r.BuildID))...)
	}
	return unix.PERF_RECORD_MMAP2, misc, appendName(appendPair(b, r.Prot, r.Flags), r.Filename), nil
}

// appendTrailer appends the fields that sample_id_all asks for. __perf_event__output_id_sample in
// kernel/events/core.c defines the order.
func appendTrailer(b []byte, h *perfevent.Header, attr *unix.PerfEventAttr) []byte {
	if attr.Bits&unix.PerfBitSampleIDAll == 0 {
		return b
	}
	for _, field := range []struct{ bit, value uint64 }{
		{unix.PERF_SAMPLE_TID, uint64(h.TID)<<32 | uint64(h.PID)},
		{unix.PERF_SAMPLE_TIME, h.Time},
		{unix.PERF_SAMPLE_ID, h.ID},
		{unix.PERF_SAMPLE_STREAM_ID, 0}, // nobody asks for it, and Header does not keep it
		{unix.PERF_SAMPLE_CPU, uint64(h.CPU)},
		{unix.PERF_SAMPLE_IDENTIFIER, h.ID},
	} {
		if attr.Sample_type&field.bit != 0 {
			b = appendWords(b, field.value)
		}
	}
	return b
}

// keptFields are the fields of samples that perfevent.Sample keeps.
const keptFields = unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME |
	unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_ID | unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_CALLCHAIN |
	unix.PERF_SAMPLE_RAW | unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER | unix.PERF_SAMPLE_REGS_INTR | unix.PERF_SAMPLE_CGROUP

// appendSample appends a sample's fields in the order of perf_output_sample in
// kernel/events/core.c.
func (e *Encoder) appendSample(b []byte, s *perfevent.Sample) ([]byte, error) {
	if s.Sampling < 0 || s.Sampling >= len(e.events) {
		return b, fmt.Errorf("encode a sample: there is no event %d", s.Sampling)
	}
	attr := &e.events[s.Sampling].Attr
	has := func(bit uint64) bool { return attr.Sample_type&bit != 0 }
	if more := attr.Sample_type &^ keptFields; more != 0 {
		return b, fmt.Errorf("encode a sample: fields of sample_type %#x are not kept", more)
	}
	for _, field := range []struct{ bit, value uint64 }{
		{unix.PERF_SAMPLE_IDENTIFIER, s.ID},
		{unix.PERF_SAMPLE_IP, s.IP},
		{unix.PERF_SAMPLE_TID, uint64(s.TID)<<32 | uint64(s.PID)},
		{unix.PERF_SAMPLE_TIME, s.Time},
		{unix.PERF_SAMPLE_ADDR, s.Addr},
		{unix.PERF_SAMPLE_ID, s.ID},
		{unix.PERF_SAMPLE_CPU, uint64(s.CPU)},
		{unix.PERF_SAMPLE_PERIOD, s.Period},
	} {
		if has(field.bit) {
			b = appendWords(b, field.value)
		}
	}
	if has(unix.PERF_SAMPLE_CALLCHAIN) {
		b = appendWords(appendWords(b, uint64(len(s.Callchain))), s.Callchain...)
	}
	if has(unix.PERF_SAMPLE_RAW) {
		// As in the kernel, the padding is part of the data: perf reads on right after it.
		size := (4+len(s.Raw)+7)&^7 - 4
		b = append(binary.LittleEndian.AppendUint32(b, uint32(size)), s.Raw...)
		b = append(b, make([]byte, size-len(s.Raw))...)
	}
	var err error
	if has(unix.PERF_SAMPLE_REGS_USER) {
		if b, err = appendRegisters(b, &s.Regs, attr.Sample_regs_user); err != nil {
			return b, fmt.Errorf("encode a sample: %w", err)
		}
	}
	if has(unix.PERF_SAMPLE_STACK_USER) {
		b = appendStack(b, s.Stack)
	}
	if has(unix.PERF_SAMPLE_REGS_INTR) {
		if b, err = appendRegisters(b, &s.IntrRegs, attr.Sample_regs_intr); err != nil {
			return b, fmt.Errorf("encode a sample: %w", err)
		}
	}
	if has(unix.PERF_SAMPLE_CGROUP) {
		b = appendWords(b, s.Cgroup)
	}
	return b, nil
}

// appendRegisters appends registers. mask says which ones the event records.
func appendRegisters(b []byte, r *perfevent.Registers, mask uint64) ([]byte, error) {
	b = appendWords(b, r.ABI)
	if r.ABI == unix.PERF_SAMPLE_REGS_ABI_NONE {
		return b, nil
	}
	if r.Mask != mask || len(r.Values) != bits.OnesCount64(mask) {
		return b, fmt.Errorf("registers %#x where the event records %#x", r.Mask, mask)
	}
	return appendWords(b, r.Values...), nil
}

// appendStack appends a copied stack: the size of its room, which is a multiple of 8, the copy, and
// how long it is. If the size is 0, nothing follows it.
func appendStack(b, stack []byte) []byte {
	room := uint64(len(stack)+7) &^ 7
	if b = appendWords(b, room); room == 0 {
		return b
	}
	b = append(b, stack...)
	return appendWords(append(b, make([]byte, room-uint64(len(stack)))...), uint64(len(stack)))
}

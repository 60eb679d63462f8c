package perfevent

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"
)

// decodeSample decodes a sample. Its fields come in the order in which
// perf_output_sample (kernel/events/core.c) writes them; all but Raw are 64 bit
// words or a multiple of them, so the record is walked as words.
func (d *Decoder) decodeSample(b []byte) (Record, error) {
	w := words(b)
	if len(w) <= d.sampleID {
		return nil, errShort
	}
	index := d.samplingOf(w)
	if index < 0 {
		return nil, errID
	}
	lay := &d.layouts[index]
	if len(w) < lay.head.end {
		return nil, errShort
	}
	s := &lay.sample
	s.decodeHead(w, &lay.head)
	i := lay.head.end // the next word; it is checked before each read
	if lay.sampleType&unix.PERF_SAMPLE_READ != 0 {
		end, ok := skipRead(w, i, lay.readFormat)
		if !ok {
			return nil, sampleError("counts", b)
		}
		i = end
	}
	if lay.sampleType&unix.PERF_SAMPLE_CALLCHAIN != 0 {
		if i >= len(w) || w[i] > uint64(len(w)-i-1) {
			return nil, sampleError("callchain", b)
		}
		end := i + 1 + int(w[i])
		s.Callchain = w[i+1 : end : end]
		i = end
	}
	if lay.sampleType&unix.PERF_SAMPLE_RAW != 0 {
		// A 32 bit length, then the data; the two together fill whole words.
		if i >= len(w) || 4+uint64(uint32(w[i])) > uint64(len(w)-i)*8 {
			return nil, sampleError("raw data", b)
		}
		size := int(uint32(w[i]))
		s.Raw = b[i*8+4 : i*8+4+size : i*8+4+size]
		i += (4 + size + 7) / 8
	}
	if lay.sampleType&unix.PERF_SAMPLE_BRANCH_STACK != 0 {
		end, ok := skipBranches(w, i, lay.branches)
		if !ok {
			return nil, sampleError("branches", b)
		}
		i = end
	}
	if lay.sampleType&unix.PERF_SAMPLE_REGS_USER != 0 {
		end, ok := s.Regs.decode(w, i, lay.userRegs)
		if !ok {
			return nil, sampleError("registers", b)
		}
		i = end
	}
	if lay.sampleType&unix.PERF_SAMPLE_STACK_USER != 0 {
		var err error
		if w, i, err = s.decodeStack(w, b, i); err != nil {
			return nil, err
		}
	}
	i += lay.afterStack
	if lay.sampleType&unix.PERF_SAMPLE_REGS_INTR != 0 {
		end, ok := s.IntrRegs.decode(w, i, lay.intrRegs)
		if !ok {
			return nil, sampleError("interrupt registers", b)
		}
		i = end
	}
	if lay.sampleType&unix.PERF_SAMPLE_PHYS_ADDR != 0 {
		i++
	}
	if lay.sampleType&unix.PERF_SAMPLE_CGROUP != 0 {
		if i >= len(w) {
			return nil, sampleError("cgroup", b)
		}
		s.Cgroup = w[i]
	}
	if lay.isFunction {
		lay.atFunction()
	}
	return s, nil
}

// samplingOf returns the sampling of a sample that is long enough to have an id; it is negative
// if there is none.
func (d *Decoder) samplingOf(w []uint64) int32 {
	if d.sampleID == 0 || w[d.sampleID] == 0 && d.unnamed >= 0 {
		return d.unnamed
	}
	if ev := d.events.find(w[d.sampleID]); ev != nil {
		return ev.sampling
	}
	return d.fallback
}

// Time returns the time of the record that fills b, as Decode would. It is 0 if the record has
// none, or can't be decoded.
func (d *Decoder) Time(b []byte) uint64 {
	if len(b) < headerSize {
		return 0
	}
	if binary.LittleEndian.Uint32(b) != unix.PERF_RECORD_SAMPLE {
		var h Header
		d.decodeTrailer(&h, b)
		return h.Time
	}
	w := words(b)
	if len(w) <= d.sampleID {
		return 0
	}
	index := d.samplingOf(w)
	if index < 0 {
		return 0
	}
	at := d.layouts[index].head.time
	if at == 0 || at >= len(w) {
		return 0
	}
	return w[at]
}

// decodeHead decodes the fields before the first one of variable length. p has their places.
func (s *Sample) decodeHead(w []uint64, p *samplePlaces) {
	s.Misc = uint16(w[0] >> 32)
	if p.id != 0 {
		s.ID = w[p.id]
	}
	if p.ip != 0 {
		s.IP = w[p.ip]
	}
	if p.tid != 0 {
		s.PID, s.TID = uint32(w[p.tid]), uint32(w[p.tid]>>32)
	}
	if p.time != 0 {
		s.Time = w[p.time]
	}
	if p.addr != 0 {
		s.Addr = w[p.addr]
	}
	if p.cpu != 0 {
		s.CPU = uint32(w[p.cpu])
	}
	if p.period != 0 {
		s.Period = w[p.period]
	}
}

// decode decodes the registers at word i and returns the index of the word after them. mask
// says which registers the event records.
func (r *Registers) decode(w []uint64, i int, mask uint64) (end int, ok bool) {
	if i >= len(w) {
		return 0, false
	}
	*r = Registers{ABI: w[i]}
	i++
	// Without an ABI (a kernel thread, a task that exits) none follow.
	if r.ABI == unix.PERF_SAMPLE_REGS_ABI_NONE {
		return i, true
	}
	end = i + bits.OnesCount64(mask)
	if end > len(w) {
		return 0, false
	}
	r.Mask, r.Values = mask, w[i:end:end]
	return end, true
}

// decodeStack decodes the copied stack at word i: the size reserved for it, that many bytes,
// and how many of them were filled. If the size is 0, nothing follows it. decodeStack returns
// the words that hold the next field, and the field's index in them. They are not w if the
// size is not a multiple of 8.
func (s *Sample) decodeStack(w []uint64, b []byte, i int) ([]uint64, int, error) {
	if i >= len(w) {
		return nil, 0, sampleError("stack", b)
	}
	size := w[i]
	i++
	s.Stack = nil
	if size == 0 {
		return w, i, nil
	}
	from := uint64(i * 8)
	if size > uint64(len(b)) || from+size+8 > uint64(len(b)) {
		return nil, 0, sampleError("stack", b)
	}
	rest := b[from+size:]
	filled := binary.LittleEndian.Uint64(rest)
	if filled > size {
		return nil, 0, sampleError("stack", b)
	}
	s.Stack = b[from : from+filled : from+filled]
	if size%8 != 0 {
		return words(rest[8:]), 0, nil
	}
	return w, i + int(size/8) + 1, nil
}

func sampleError(field string, b []byte) error {
	return fmt.Errorf("sample of %d bytes: %s: %w", len(b), field, errShort)
}

// atFunction makes a sample of FunctionEntry look as if the function itself had been sampled:
// IP is the address in the function, and the callchain starts there instead of in ftrace's
// own functions. It copies the callchain, since rings of recent samples are read-only.
func (l *layout) atFunction() {
	const ipAt = 8
	s := &l.sample
	if len(s.Raw) < ipAt+8 {
		return
	}
	s.IP = binary.LittleEndian.Uint64(s.Raw[ipAt:])
	for i, frame := range s.Callchain {
		// The frame is the address after the function's call of ftrace.
		if i > 0 && frame-s.IP <= longestCall {
			l.chain = append(append(l.chain[:0], kernelMarker, s.IP), s.Callchain[i+1:]...)
			s.Callchain = l.chain
			return
		}
	}
}

const (
	// longestCall is how many bytes a call to ftrace has at most.
	longestCall = 8
	// kernelMarker is PERF_CONTEXT_KERNEL, which goes before the kernel's frames.
	kernelMarker = ^uint64(127)
)

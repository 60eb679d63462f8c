package perfevent

import (
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"
)

// newLayout derives from an attribute how its samples look.
func newLayout(attr *unix.PerfEventAttr, period uint64) layout {
	return layout{
		sampleType: attr.Sample_type,
		regsMask:   attr.Sample_regs_user,
		regsCount:  bits.OnesCount64(attr.Sample_regs_user),
		period:     period,
	}
}

// decodeSample decodes a sample. Its fields come in the order in which
// perf_output_sample (kernel/events/core.c) writes them; all but Raw are 64 bit
// words or a multiple of them, so the record is walked as words.
func (d *decoder) decodeSample(h Header, b []byte) (Record, error) {
	if len(b) < minSampleSize {
		return nil, errShort
	}
	w := words(b)
	h.ID = w[1]
	h.PID, h.TID = uint32(w[3]), uint32(w[3]>>32)
	h.Time = w[4]
	index := d.stray
	if ev := d.events.find(h.ID); ev != nil {
		index = ev.sampling
	}
	if index < 0 {
		return nil, errID
	}
	lay := &d.layouts[index]
	s := &d.sample
	*s = Sample{Header: h, Sampling: int(index), IP: w[2], Period: lay.period}

	i := 5 // the next word; it is checked before each read
	if lay.sampleType&unix.PERF_SAMPLE_ADDR != 0 {
		s.Addr = w[i] // minSampleSize covers this word
		i++
	}
	if i >= len(w) {
		return nil, sampleError("cpu", b)
	}
	s.CPU = uint32(w[i])
	i++
	if lay.sampleType&unix.PERF_SAMPLE_PERIOD != 0 {
		if i >= len(w) {
			return nil, sampleError("period", b)
		}
		s.Period = w[i]
		i++
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
	if lay.sampleType&unix.PERF_SAMPLE_REGS_USER != 0 {
		if i >= len(w) {
			return nil, sampleError("registers", b)
		}
		s.Regs.ABI = w[i]
		i++
		// Without an ABI (a kernel thread, a task that exits) none follow.
		if s.Regs.ABI != unix.PERF_SAMPLE_REGS_ABI_NONE {
			end := i + lay.regsCount
			if end > len(w) {
				return nil, sampleError("registers", b)
			}
			s.Regs.Mask, s.Regs.Values = lay.regsMask, w[i:end:end]
			i = end
		}
	}
	if lay.sampleType&unix.PERF_SAMPLE_STACK_USER != 0 {
		end, err := s.decodeStack(w, b, i)
		if err != nil {
			return nil, err
		}
		i = end
	}
	if lay.sampleType&unix.PERF_SAMPLE_CGROUP != 0 {
		if i >= len(w) {
			return nil, sampleError("cgroup", b)
		}
		s.Cgroup = w[i]
	}
	return s, nil
}

// decodeStack decodes the copied stack at word i: the size of the room for it,
// the room, and how much of it was filled; the last two only if there is room.
func (s *Sample) decodeStack(w []uint64, b []byte, i int) (int, error) {
	if i >= len(w) {
		return 0, sampleError("stack", b)
	}
	size := w[i]
	i++
	if size == 0 {
		return i, nil
	}
	if size%8 != 0 || size/8 >= uint64(len(w)-i) {
		return 0, sampleError("stack", b)
	}
	end := i + int(size/8)
	if w[end] > size {
		return 0, sampleError("stack", b)
	}
	last := i*8 + int(w[end])
	s.Stack = b[i*8 : last : last]
	return end + 1, nil
}

func sampleError(field string, b []byte) error {
	return fmt.Errorf("sample of %d bytes: %s: %w", len(b), field, errShort)
}

package perfevent

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"
)

// layout is how the samples of one sampling look, and the Sample that they are
// decoded to: what the sampling did not ask for stays zero in it for good.
type layout struct {
	sampleType uint64
	userRegs   uint64
	intrRegs   uint64
	isFunction bool // of FunctionEntry
	sample     Sample
	chain      []uint64 // memory of atFunction
}

// newLayout returns the layout of the index-th sampling. Its period is that of
// samples that do not carry their own.
func newLayout(index int, period, sampleType, userRegs, intrRegs uint64) layout {
	return layout{
		sampleType: sampleType,
		userRegs:   userRegs,
		intrRegs:   intrRegs,
		sample:     Sample{Header: Header{Type: unix.PERF_RECORD_SAMPLE}, Sampling: index, Period: period},
	}
}

// decodeSample decodes a sample. Its fields come in the order in which
// perf_output_sample (kernel/events/core.c) writes them; all but Raw are 64 bit
// words or a multiple of them, so the record is walked as words.
func (d *Decoder) decodeSample(b []byte) (Record, error) {
	if len(b) < minSampleSize {
		return nil, errShort
	}
	w := words(b)
	index := d.shared
	if ev := d.events.find(w[1]); ev != nil {
		index = ev.sampling
	}
	if index < 0 {
		return nil, errID
	}
	lay := &d.layouts[index]
	s := &lay.sample
	s.Misc, s.ID, s.IP = uint16(w[0]>>32), w[1], w[2]
	s.PID, s.TID, s.Time = uint32(w[3]), uint32(w[3]>>32), w[4]

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
	if lay.sampleType&unix.PERF_SAMPLE_REGS_INTR != 0 {
		end, ok := s.IntrRegs.decode(w, i, lay.intrRegs)
		if !ok {
			return nil, sampleError("interrupt registers", b)
		}
		i = end
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

// decode decodes the registers at word i, of which mask says which they are, and
// returns where they end.
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

// decodeStack decodes the copied stack at word i: the size of the room for it,
// the room, and how much of it was filled; the last two only if there is room.
// It returns the words that what follows is in, and where it begins: behind room
// that is no whole number of words they are others.
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

package kprobe

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/perfevent"
)

// Offsets in the common header of all records (include/linux/trace_events.h, struct
// trace_entry), and of the address that follows it in a probe's record.
const (
	flagsAt    = 2
	preemptAt  = 3
	pidAt      = 4
	probeIPAt  = 8
	argumentAt = 16
)

const flagIRQsOff = 1

// rawFunction converts records of ftrace:function to kprobe records. They start with the same
// fields and an address in the function.
//
// The preemption depth in these records is one higher than in a kprobe's. The address is that
// of the compiler's call to ftrace. On x86, a kprobe is at the same address, if endbr64 comes
// before it. On arm64, a kprobe is at the function's start.
func rawFunction(p *Plan, arch string) func(dst []byte, i int, s *perfevent.Sample) []byte {
	var starts []uint64
	if arch == "arm64" {
		for i := range p.Sites {
			starts = append(starts, p.Sites[i].Address)
		}
		slices.Sort(starts)
	}
	return func(dst []byte, _ int, s *perfevent.Sample) []byte {
		if len(s.Raw) < argumentAt {
			return append(dst, s.Raw...)
		}
		start := len(dst)
		dst = append(dst, s.Raw[:argumentAt]...)
		record := dst[start:]
		if record[preemptAt]&0xf > 1 {
			record[preemptAt]--
		}
		ip := binary.LittleEndian.Uint64(record[probeIPAt:])
		if at, exact := slices.BinarySearch(starts, ip); !exact && at > 0 && ip-starts[at-1] <= farthestCall {
			binary.LittleEndian.PutUint64(record[probeIPAt:], starts[at-1])
		}
		return dst
	}
}

// farthestCall is the maximum distance, in bytes, of the call to ftrace from a function's
// start: a landing pad and the instruction that saves the link register may come first.
const farthestCall = 12

// rawBreakpoint converts a breakpoint's registers to kprobe records.
type rawBreakpoint struct {
	mask  uint64 // of the registers to sample
	flags uint8  // number of the register that has the interrupt flag; see irqs
	irqs  uint64 // the bit of that register that is set while interrupts are on; 0 if there is none
	sites []breakpointSite
}

type breakpointSite struct {
	address uint64
	args    []registerArg
}

// registerArg is a register, and how many of its bytes are recorded.
type registerArg struct {
	register uint8 // its number in the kernel's asm/perf_regs.h
	size     int
}

// newRawBreakpoint returns the converter for p's sites on machine m. It returns an error if a
// site fetches anything but registers that perf can sample.
func newRawBreakpoint(p *Plan, m *arch.Machine) (*rawBreakpoint, error) {
	b := &rawBreakpoint{}
	if m == arch.AMD64 {
		b.flags, b.irqs = arch.RFLAGS.Perf, 1<<9 // X86_EFLAGS_IF
		b.mask |= arch.Mask(arch.RFLAGS)
	}
	// The kernel rejects an empty mask, so sample at least one register.
	b.mask |= arch.Mask(m.SP)
	for i := range p.Sites {
		s := &p.Sites[i]
		site := breakpointSite{address: s.Address}
		for _, a := range s.Args {
			name, ok := strings.CutPrefix(a.Fetch, "%")
			r := m.Register(name)
			if !ok || r == nil || r.Perf == arch.None {
				return nil, fmt.Errorf("argument %s: a breakpoint shows only registers, not memory", a)
			}
			size, err := ftrace.NumberSize(a)
			if err != nil {
				return nil, err
			}
			b.mask |= arch.Mask(r)
			site.args = append(site.args, registerArg{r.Perf, size})
		}
		b.sites = append(b.sites, site)
	}
	return b, nil
}

// append appends the record of a hit of the i-th site. The preemption depth is unknown and left
// 0.
func (b *rawBreakpoint) append(dst []byte, i int, s *perfevent.Sample) []byte {
	site := &b.sites[i]
	start := len(dst)
	dst = append(dst, make([]byte, argumentAt)...)
	record := dst[start:]
	le := binary.LittleEndian
	le.PutUint32(record[pidAt:], s.TID)
	le.PutUint64(record[probeIPAt:], site.address)
	if flags, ok := s.IntrRegs.Value(int(b.flags)); ok && b.irqs != 0 && flags&b.irqs == 0 {
		record[flagsAt] = flagIRQsOff
	}
	for _, a := range site.args {
		value, _ := s.IntrRegs.Value(int(a.register))
		var bytes [8]byte
		le.PutUint64(bytes[:], value)
		dst = append(dst, bytes[:a.size]...)
	}
	return dst
}

package kprobe

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// The beginning of all records (include/linux/trace_events.h, struct
// trace_entry), and where a probe's goes on with its address.
const (
	flagsAt    = 2
	preemptAt  = 3
	pidAt      = 4
	probeIPAt  = 8
	argumentAt = 16
)

// flagIRQsOff is the bit of common_flags (TRACE_FLAG_IRQS_OFF).
const flagIRQsOff = 1

// rawFunction makes records of a kprobe out of those of ftrace:function, which
// begin with the same fields and the address in the function.
//
// Perf says one level of disabled preemption more of them than of a kprobe. The
// address is the call to ftrace that the compiler has put into the function,
// where a kprobe of x86 is as well, if there is endbr64 before it; on arm64 the
// kprobe is at the very start.
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

// farthestCall is how far behind a function's start the call to ftrace may be:
// behind a landing pad and the instruction that saves the link register.
const farthestCall = 12

// rawBreakpoint makes records of a kprobe out of a breakpoint's registers.
type rawBreakpoint struct {
	mask  uint64 // of the registers that are asked for
	flags uint8  // number of the register that says whether interrupts are off, with irqs
	irqs  uint64 // the bit of that register that is set while they are on; 0 if there is none
	sites []breakpointSite
}

// breakpointSite is what a breakpoint's record holds.
type breakpointSite struct {
	address uint64
	args    []registerArg
}

// registerArg is a register and how many of its bytes.
type registerArg struct {
	register uint8 // its number in the kernel's asm/perf_regs.h
	size     int
}

// newRawBreakpoint looks at what the sites fetch, of which registers alone can be
// had.
func newRawBreakpoint(p *Plan, arch string) (*rawBreakpoint, error) {
	numbers := perfRegisters(arch)
	if numbers == nil {
		return nil, fmt.Errorf("the registers of %s are not known", arch)
	}
	b := &rawBreakpoint{}
	if flags, ok := numbers["flags"]; ok {
		b.flags, b.irqs = flags, 1<<9 // X86_EFLAGS_IF
		b.mask |= 1 << flags
	}
	// A sample must have some registers for the kernel to take the mask.
	b.mask |= 1 << numbers["sp"]
	for i := range p.Sites {
		s := &p.Sites[i]
		site := breakpointSite{address: s.Address}
		for _, a := range s.Args {
			name, ok := strings.CutPrefix(a.Fetch, "%")
			number, known := numbers[name]
			if !ok || !known {
				return nil, fmt.Errorf("argument %s: a breakpoint shows only registers, not memory", a)
			}
			size, err := ftrace.NumberSize(a)
			if err != nil {
				return nil, err
			}
			b.mask |= 1 << number
			site.args = append(site.args, registerArg{number, size})
		}
		b.sites = append(b.sites, site)
	}
	return b, nil
}

// append makes the record of a hit of the i-th site. How deep preemption was
// disabled nobody knows.
func (b *rawBreakpoint) append(dst []byte, i int, s *perfevent.Sample) []byte {
	site := &b.sites[i]
	start := len(dst)
	dst = append(dst, make([]byte, argumentAt)...)
	record := dst[start:]
	le := binary.LittleEndian
	le.PutUint32(record[pidAt:], s.TID)
	le.PutUint64(record[probeIPAt:], site.address)
	if flags, ok := register(&s.IntrRegs, b.flags); ok && b.irqs != 0 && flags&b.irqs == 0 {
		record[flagsAt] = flagIRQsOff
	}
	for _, a := range site.args {
		value, _ := register(&s.IntrRegs, a.register)
		var bytes [8]byte
		le.PutUint64(bytes[:], value)
		dst = append(dst, bytes[:a.size]...)
	}
	return dst
}

// register is the value of a register in a sample, if it has it.
func register(regs *perfevent.Registers, number uint8) (uint64, bool) {
	bit := uint64(1) << number
	i := bits.OnesCount64(regs.Mask & (bit - 1))
	if regs.Mask&bit == 0 || i >= len(regs.Values) {
		return 0, false
	}
	return regs.Values[i], true
}

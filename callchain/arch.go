package callchain

import (
	"debug/elf"
	"fmt"
	"math/bits"
	"runtime"
)

// Arch is the machine whose stacks are unwound. It is a value, not a build
// constraint: a recording of one machine is unwound on another.
type Arch uint8

// The machines that ringtap knows.
const (
	AMD64 Arch = iota + 1
	ARM64
	I386 // a 32-bit program, on a 64-bit kernel
)

// Host is the machine that this program runs on; zero for one that ringtap does
// not know.
func Host() Arch {
	switch runtime.GOARCH {
	case AMD64.String():
		return AMD64
	case ARM64.String():
		return ARM64
	}
	return 0
}

// String is the name that GOARCH has for the machine.
func (a Arch) String() string {
	switch a {
	case AMD64:
		return "amd64"
	case ARM64:
		return "arm64"
	case I386:
		return "386"
	}
	return fmt.Sprintf("Arch(%d)", uint8(a))
}

// Compat is the machine of the 32-bit programs that a 64-bit kernel runs beside the
// machine's own, whose samples have PERF_SAMPLE_REGS_ABI_32; zero where ringtap does not
// know it.
func (a Arch) Compat() Arch {
	if a == AMD64 {
		return I386
	}
	return 0
}

// WordSize is the size of an address on the machine's stacks in bytes; zero for an
// unknown machine.
func (a Arch) WordSize() int {
	if m := describe(a); m != nil {
		return int(m.word)
	}
	return 0
}

// maxRegs is the number of DWARF columns kept: arm64 has x0 to x30, sp and pc.
const maxRegs = 33

// machine says which DWARF column plays which part.
type machine struct {
	pc, sp, fp, ra uint8
	word           uint8 // size of an address in bytes: 8 or 4
	// perf[i] is the column of bit i of perf's register mask, noReg for one
	// that unwinding does not need.
	perf []uint8
	mask uint64
	// entryMask is what of mask a call preserves, with the pc and the register
	// that holds the return address at a function's entry.
	entryMask uint64
	// The bits of pc, sp and fp in that mask.
	pcBit, spBit, fpBit uint8
}

// noReg marks a register of perf's mask that has no column.
const noReg = 0xff

// describe finds the description of a machine; nil for an unknown one.
func describe(a Arch) *machine {
	switch a {
	case AMD64:
		return &amd64
	case ARM64:
		return &arm64
	case I386:
		return &i386
	}
	return nil
}

// cut makes an address of the machine of a number.
func (m *machine) cut(v uint64) uint64 {
	if m.word == 4 {
		return uint64(uint32(v))
	}
	return v
}

// archOf finds the machine of an ELF file.
func archOf(m elf.Machine) Arch {
	switch m {
	case elf.EM_X86_64:
		return AMD64
	case elf.EM_AARCH64:
		return ARM64
	case elf.EM_386:
		return I386
	}
	return 0
}

// UserRegsMask is the perf_event_attr.sample_regs_user that unwinding asks
// for: every general-purpose register and the pc. All, not just the
// callee-saved ones, because hand-written code bases its CFA on any of them.
// It is zero for an unknown machine.
func (a Arch) UserRegsMask() uint64 {
	if m := describe(a); m != nil {
		return m.mask
	}
	return 0
}

// EntryRegsMask is the same for samples that are all taken at the first
// instruction of a function, whose frame is the stack pointer's: the registers
// that a call preserves, which are all that its callers' frames can be based on,
// and the pc.
func (a Arch) EntryRegsMask() uint64 {
	if m := describe(a); m != nil {
		return m.entryMask
	}
	return 0
}

// Regs are the registers of a thread by DWARF column. The zero Regs knows no
// register.
type Regs struct {
	arch  Arch
	known uint64 // bit per column
	v     [maxRegs]uint64
}

// Load sets the registers from a sample: values holds one word for each bit
// that is set in mask, lowest bit first (perf_event_open(2),
// PERF_SAMPLE_REGS_USER; the bits are those of asm/perf_regs.h). Only samples
// whose ABI is PERF_SAMPLE_REGS_ABI_64 may be loaded, or PERF_SAMPLE_REGS_ABI_32 for
// I386: their mask means the same registers. Without a pc and a stack
// pointer nothing can be unwound, so that their absence is an error.
func (r *Regs) Load(arch Arch, mask uint64, values []uint64) error {
	m := describe(arch)
	if m == nil {
		return fmt.Errorf("load registers: unknown machine %v", arch)
	}
	if bits.OnesCount64(mask) != len(values) {
		return fmt.Errorf("load registers: mask %#x names %d registers, there are %d",
			mask, bits.OnesCount64(mask), len(values))
	}
	r.arch, r.known = arch, 0
	for i := 0; mask != 0; i++ {
		bit := bits.TrailingZeros64(mask)
		mask &= mask - 1
		if bit < len(m.perf) && m.perf[bit] != noReg {
			r.set(m.perf[bit], m.cut(values[i]))
		}
	}
	if need := uint64(1)<<m.pc | 1<<m.sp; r.known&need != need {
		return fmt.Errorf("load registers: no pc or no stack pointer among them")
	}
	return nil
}

// Frame picks the pc, the stack pointer and the frame pointer out of a sample's
// registers, which are as Regs.Load takes them. It reports false if one is not
// there.
func (a Arch) Frame(mask uint64, values []uint64) (pc, sp, fp uint64, ok bool) {
	m := describe(a)
	if m == nil || bits.OnesCount64(mask) != len(values) {
		return 0, 0, 0, false
	}
	if need := uint64(1)<<m.pcBit | 1<<m.spBit | 1<<m.fpBit; mask&need != need {
		return 0, 0, 0, false
	}
	at := func(bit uint8) uint64 { return values[bits.OnesCount64(mask&(1<<bit-1))] }
	return at(m.pcBit), at(m.spBit), at(m.fpBit), true
}

// PC is the program counter; zero for registers that were never loaded.
func (r *Regs) PC() uint64 {
	if m := describe(r.arch); m != nil {
		return r.v[m.pc]
	}
	return 0
}

// SP is the stack pointer; zero for registers that were never loaded.
func (r *Regs) SP() uint64 {
	if m := describe(r.arch); m != nil {
		return r.v[m.sp]
	}
	return 0
}

func (r *Regs) set(column uint8, v uint64) {
	r.v[column] = v
	r.known |= 1 << column
}

func (r *Regs) has(column uint8) bool {
	return column < maxRegs && r.known>>column&1 != 0
}

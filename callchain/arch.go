package callchain

import (
	"debug/elf"
	"fmt"
	"math/bits"
	"runtime"

	"github.com/ringtap/ringtap/internal/arch"
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

// Host returns the machine that this program runs on, or zero if ringtap does not support it.
func Host() Arch {
	switch runtime.GOARCH {
	case AMD64.String():
		return AMD64
	case ARM64.String():
		return ARM64
	}
	return 0
}

// String returns GOARCH's name for the machine.
func (a Arch) String() string {
	if m := describe(a); m != nil {
		return m.name
	}
	return fmt.Sprintf("Arch(%d)", uint8(a))
}

// Compat returns the machine of the 32-bit programs that a 64-bit kernel can also run. Their
// samples have PERF_SAMPLE_REGS_ABI_32. It is zero if ringtap does not support them.
func (a Arch) Compat() Arch {
	if a == AMD64 {
		return I386
	}
	return 0
}

// WordSize returns the size of an address on the machine's stacks in bytes, or zero for an
// unknown machine.
func (a Arch) WordSize() int {
	if m := describe(a); m != nil {
		return int(m.word)
	}
	return 0
}

// maxRegs is the number of DWARF columns kept: arm64 has x0 to x30, sp and pc.
const maxRegs = 33

// machine describes a machine's registers. pc, sp, fp and ra are DWARF columns.
type machine struct {
	name           string // GOARCH's name
	pc, sp, fp, ra uint8
	word           uint8 // size of an address in bytes: 8 or 4
	// perf[i] is the column of bit i of perf's register mask, or noReg if unwinding does not
	// need that register.
	perf []uint8
	mask uint64
	// entryMask has the registers of mask that a call preserves, the pc, and the register that
	// holds the return address at a function's entry.
	entryMask uint64
	// The bit numbers of pc, sp and fp in perf's mask.
	pcBit, spBit, fpBit uint8
}

// noReg marks a register of perf's mask that has no column.
const noReg = 0xff

var amd64, arm64, i386 = newMachine(arch.AMD64), newMachine(arch.ARM64), newMachine(arch.I386)

// newMachine returns the description of m. If a call pushes the return address, ra is the pc's
// column.
func newMachine(m *arch.Machine) machine {
	d := machine{
		name: m.Name,
		pc:   m.PC.DWARF, sp: m.SP.DWARF, fp: m.FP.DWARF, ra: m.PC.DWARF, word: uint8(m.Word),
		entryMask: arch.Mask(m.PC, m.SP) | arch.Mask(m.C.Preserved...),
		pcBit:     m.PC.Perf, spBit: m.SP.Perf, fpBit: m.FP.Perf,
	}
	if m.LR != nil {
		d.ra = m.LR.DWARF
		d.entryMask |= arch.Mask(m.LR)
	}
	for _, r := range m.Registers {
		if r.Perf == arch.None || r.DWARF == arch.None {
			continue
		}
		for len(d.perf) <= int(r.Perf) {
			d.perf = append(d.perf, noReg)
		}
		d.perf[r.Perf] = r.DWARF
		d.mask |= arch.Mask(r)
	}
	return d
}

// describe returns the description of a machine, or nil for an unknown one.
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

// cut truncates v to the size of the machine's addresses.
func (m *machine) cut(v uint64) uint64 {
	if m.word == 4 {
		return uint64(uint32(v))
	}
	return v
}

// archOf returns the machine of an ELF file, or zero if it is not supported.
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

// UserRegsMask returns the perf_event_attr.sample_regs_user that unwinding needs: every
// general-purpose register and the pc. Callee-saved registers alone are not enough, because
// hand-written code bases its CFA on any register. It is zero for an unknown machine.
func (a Arch) UserRegsMask() uint64 {
	if m := describe(a); m != nil {
		return m.mask
	}
	return 0
}

// EntryRegsMask is UserRegsMask for samples that are all taken at a function's first
// instruction. There the CFA is based on the stack pointer, and the callers' frames can only be
// based on registers that a call preserves. So it has these registers and the pc.
func (a Arch) EntryRegsMask() uint64 {
	if m := describe(a); m != nil {
		return m.entryMask
	}
	return 0
}

// Regs holds a thread's registers by DWARF column. In the zero Regs all are unknown.
type Regs struct {
	arch  Arch
	known uint64 // bit per column
	v     [maxRegs]uint64
}

// Load sets the registers from a sample. values holds one word for each bit set in mask, lowest
// bit first (perf_event_open(2), PERF_SAMPLE_REGS_USER; asm/perf_regs.h). The sample's ABI must
// be PERF_SAMPLE_REGS_ABI_64, or PERF_SAMPLE_REGS_ABI_32 for I386. Load fails if the pc or the
// stack pointer is missing: nothing can be unwound without them.
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

// Frame returns the pc, the stack pointer and the frame pointer from a sample's registers; mask
// and values are those of Regs.Load. ok is false if one of the three is missing.
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

// PC returns the program counter, or zero if no registers were loaded.
func (r *Regs) PC() uint64 {
	if m := describe(r.arch); m != nil {
		return r.v[m.pc]
	}
	return 0
}

// SP returns the stack pointer, or zero if no registers were loaded.
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

package callchain

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ringtap/ringtap/internal/arch"
)

// isa holds the differences between amd64 and i386 code that matter for deriving rules from
// instructions.
type isa struct {
	machine *machine
	mode    int // size of an address in bits, as in x86asm and Inst.DataSize
	// columns maps register numbers in instructions to DWARF columns.
	columns []uint8
	saved   []uint8 // registers that a callee saves, at most maxSaved
	scratch []uint8 // registers that a callee may change
}

var (
	isaAMD64 = newISA(&amd64, arch.AMD64)
	isaI386  = newISA(&i386, arch.I386)
)

func newISA(d *machine, m *arch.Machine) isa {
	i := isa{machine: d, mode: 8 * m.Word}
	for n := 0; m.ByCode(n) != nil; n++ {
		r := m.ByCode(n)
		i.columns = append(i.columns, r.DWARF)
		switch {
		case slices.Contains(m.C.Preserved, r):
			i.saved = append(i.saved, r.DWARF)
		case r != m.SP:
			i.scratch = append(i.scratch, r.DWARF)
		}
	}
	return i
}

// isaOf returns the instruction set of a machine, or nil if its code is not read.
func isaOf(a Arch) *isa {
	switch a {
	case AMD64:
		return &isaAMD64
	case I386:
		return &isaI386
	}
	return nil
}

func (i *isa) word() int64 { return int64(i.machine.word) }

// column returns the DWARF column of the general register that arg is, or is a part of.
func (i *isa) column(arg x86asm.Arg) (uint8, bool) {
	reg, ok := arg.(x86asm.Reg)
	if !ok {
		return 0, false
	}
	var n x86asm.Reg
	switch {
	case reg >= x86asm.RAX && reg <= x86asm.R15:
		n = reg - x86asm.RAX
	case reg >= x86asm.EAX && reg <= x86asm.R15L:
		n = reg - x86asm.EAX
	case reg >= x86asm.AX && reg <= x86asm.R15W:
		n = reg - x86asm.AX
	case reg >= x86asm.AL && reg <= x86asm.BH:
		n = (reg - x86asm.AL) % 4
	case reg >= x86asm.SPB && reg <= x86asm.R15B:
		n = reg - x86asm.SPB + 4
	default:
		return 0, false
	}
	if int(n) >= len(i.columns) {
		return 0, false
	}
	return i.columns[n], true
}

func (i *isa) isSyscall(inst *x86asm.Inst) bool {
	return inst.Op == x86asm.SYSCALL || i.mode == 32 && inst.Op == x86asm.INT && inst.Args[0] == x86asm.Imm(0x80)
}

// isSlot reports whether an operand is an entry of an address table that is written once, such
// as the one that linkage tables jump through.
func (i *isa) isSlot(m *x86asm.Mem) bool {
	if i.mode == 64 {
		return m.Base == x86asm.RIP
	}
	return m.Index == 0 && (m.Base == 0 || m.Base == x86asm.EBX)
}

// readsPC reports whether an instruction calls the next one, which pushes its address. i386
// code does so to find out where it is.
func readsPC(inst *x86asm.Inst) bool {
	return inst.Op == x86asm.CALL && inst.Args[0] == x86asm.Rel(0)
}

// doesNothing reports whether an instruction is padding, as between functions. On i386 that may
// be another instruction that changes nothing.
func doesNothing(inst *x86asm.Inst) bool {
	switch inst.Op {
	case x86asm.NOP:
		return true
	case x86asm.XCHG:
		return inst.Args[0] == inst.Args[1]
	case x86asm.LEA:
		m, ok := inst.Args[1].(x86asm.Mem)
		return ok && inst.Args[0] == m.Base && m.Index == 0 && m.Disp == 0
	}
	return false
}

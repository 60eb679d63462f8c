package callchain

import "golang.org/x/arch/x86/x86asm"

// isa is what differs between the code of amd64 and i386 where rules are derived from
// instructions.
type isa struct {
	machine *machine
	mode    int // bits of an address, as x86asm and Inst.DataSize have it
	// columns are the DWARF columns in the machine's order of registers: ax, cx, dx, bx,
	// sp, bp, si, di, r8 to r15.
	columns []uint8
	saved   []uint8 // registers that code saves for its caller, at most maxSaved
	scratch []uint8 // registers that a callee need not save
}

var isaAMD64 = isa{
	machine: &amd64, mode: 64,
	columns: []uint8{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15},
	saved:   []uint8{3, 6, 12, 13, 14, 15}, // rbx, rbp, r12 to r15 (psABI, 3.2.1)
	scratch: []uint8{0, 1, 2, 4, 5, 8, 9, 10, 11},
}

var isaI386 = isa{
	machine: &i386, mode: 32,
	columns: []uint8{0, 1, 2, 3, 4, 5, 6, 7},
	saved:   []uint8{3, 5, 6, 7}, // ebx, ebp, esi, edi (psABI, 2.2.1)
	scratch: []uint8{0, 1, 2},
}

// isaOf is the instruction set of a machine; nil for one whose code is not read.
func isaOf(a Arch) *isa {
	switch a {
	case AMD64:
		return &isaAMD64
	case I386:
		return &isaI386
	}
	return nil
}

// word is the size of an address in bytes.
func (i *isa) word() int64 { return int64(i.machine.word) }

// column is the DWARF column of a general register, whatever part of it an operand is.
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

// isSyscall says whether an instruction makes a system call.
func (i *isa) isSyscall(inst *x86asm.Inst) bool {
	return inst.Op == x86asm.SYSCALL || i.mode == 32 && inst.Op == x86asm.INT && inst.Args[0] == x86asm.Imm(0x80)
}

// isSlot says whether an operand is a place in a table of addresses that is written once,
// as linkage tables jump by.
func (i *isa) isSlot(m *x86asm.Mem) bool {
	if i.mode == 64 {
		return m.Base == x86asm.RIP
	}
	return m.Index == 0 && (m.Base == 0 || m.Base == x86asm.EBX)
}

// readsPC says whether an instruction calls the next one, and so pushes its address:
// i386 code finds out so where it is.
func readsPC(inst *x86asm.Inst) bool {
	return inst.Op == x86asm.CALL && inst.Args[0] == x86asm.Rel(0)
}

// doesNothing says whether an instruction only takes up space, as between functions: on
// i386 such a one may be written as another that changes nothing.
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

package placement

import "golang.org/x/arch/x86/x86asm"

// x86 decodes the instruction at offset of an x86 function.
func (f *Function) x86(offset int) (instruction, bool) {
	in, ok := decodeX86(f.Code[offset:], f.bits())
	if !ok {
		return instruction{}, false
	}
	out := instruction{length: in.length, refused: in.refused()}
	out.stepped = out.refused != "" || !in.emulated()
	if in.vector {
		return out, true
	}
	relative := false
	switch in.opMap {
	case 0:
		switch op := in.opcode; {
		case op >= 0x70 && op <= 0x7f, op >= 0xe0 && op <= 0xe3: // Jcc, LOOP, JRCXZ
			out.flow, relative = flowBranch, true
		case op == 0xc7 && in.modrm == 0xf8: // XBEGIN, whose target is where a failed transaction continues
			out.flow, relative = flowBranch, true
		case op == 0xe8:
			relative = true
		case op == 0xe9, op == 0xeb:
			out.flow, relative = flowJump, true
		case op == 0xc2, op == 0xc3, op == 0xca, op == 0xcb, op == 0xcf:
			out.flow = flowReturn
		case op == 0xff && (in.modrm>>3&7 == 4 || in.modrm>>3&7 == 5):
			out.flow, out.notrack = flowIndirect, in.segment
		}
	case 1:
		if in.opcode >= 0x80 && in.opcode <= 0x8f { // Jcc
			out.flow, relative = flowBranch, true
		}
	}
	if relative {
		out.direct, out.target = true, offset+in.length+int(in.imm)
	}
	return out, true
}

// emulated reports whether all kernels emulate the instruction (branch_setup_xol_ops and
// push_setup_xol_ops of arch/x86/kernel/uprobes.c). The package documentation has the table of
// differences.
func (in *x86Inst) emulated() bool {
	if in.vector || in.size16 {
		return false
	}
	switch in.opMap {
	case 0:
		switch op := in.opcode; {
		case op == 0x90: // not PAUSE, not XCHG R8, RAX
			return !in.rep && in.rex&1 == 0
		case op >= 0x70 && op <= 0x7f, op == 0xe8, op == 0xe9, op == 0xeb:
			return true
		case op >= 0x50 && op <= 0x57:
			return in.length == 1 || in.length == 2 && in.rex == 0x41
		}
	case 1:
		return in.opcode >= 0x80 && in.opcode <= 0x8f
	}
	return false
}

// refused returns the reason if the kernel rejects a probe on the instruction, else ""
// (uprobe_init_insn and branch_setup_xol_ops of arch/x86/kernel/uprobes.c, and prepare_uprobe
// of kernel/events/uprobes.c).
func (in *x86Inst) refused() string {
	switch {
	case in.lock:
		return "it has a lock prefix"
	case in.segment:
		return "it has a segment prefix"
	case in.opMap == 0 && in.opcode == 0x8e && in.modrm>>3&7 == 2:
		return "it holds back exceptions"
	}
	// The kernel treats a vector instruction's opcode as a one-byte opcode, ignoring its map.
	// It rejects some for that, and executes the one-byte opcode for others, so that VZEROUPPER
	// becomes a branch.
	if in.vector {
		switch op := in.opcode; {
		case op >= 0x70 && op <= 0x7f, op == 0x90, op == 0x9d, op == 0xc2, op == 0xc3, op == 0xca, op == 0xcb,
			op == 0xe8, op == 0xe9, op == 0xeb, op == 0xff:
			return "the kernel takes it for another instruction"
		}
	}
	if in.opMap == 0 || in.vector {
		switch op := in.opcode; {
		case op >= 0x50 && op <= 0x5f, op >= 0x70 && op <= 0x81, op >= 0x83 && op <= 0x99:
		case op == 0xcc || op == 0xf1:
			return "it is a breakpoint"
		case op == 0xcd:
			return "it is an interrupt"
		case op == 0x06, op == 0x07, op == 0x0e, op == 0x16, op == 0x17, op == 0x1e, op == 0x1f,
			op == 0x27, op == 0x2f, op == 0x37, op == 0x3f, op >= 0x60 && op <= 0x62, op >= 0x6c && op <= 0x6f,
			op == 0x82, op == 0x9a, op >= 0xcc && op <= 0xcf, op >= 0xd4 && op <= 0xd6,
			op >= 0xe4 && op <= 0xe7, op == 0xea, op >= 0xec && op <= 0xef,
			op == 0xf4, op == 0xfa, op == 0xfb:
			return "the kernel can't execute it out of line"
		}
	}
	if !in.vector && in.opMap == 1 && (in.opcode == 0x05 || in.opcode == 0x34) {
		return "the program would die: it is a system call"
	}
	isBranch := in.opMap == 0 && (in.opcode == 0xe8 || in.opcode == 0xe9 || in.opcode == 0xeb || in.opcode >= 0x70 && in.opcode <= 0x7f) ||
		in.opMap == 1 && in.opcode >= 0x80 && in.opcode <= 0x8f
	switch {
	case isBranch && in.size16 && !in.vector:
		return "it is a branch with an operand size prefix"
	case !in.vector && in.opMap == 0 && in.opcode == 0x90 && in.rex&1 != 0:
		return "kernels before 6.19 take it for a nop"
	}
	return ""
}

// x86Quiet reports whether an instruction leaves everything that a probe could read unchanged:
// it writes no memory and no register except the flags, continues at the next instruction, and
// cannot fault because of a value from the caller.
func x86Quiet(code []byte, bits int) bool {
	in, ok := decodeX86(code, bits)
	if !ok || in.lock || in.vector || in.segment {
		return false
	}
	if in.opMap == 1 && (in.opcode == 0x1e && in.rep && (in.modrm == 0xfa || in.modrm == 0xfb) || in.opcode == 0x1f && in.modrm>>3&7 == 0) {
		return true // ENDBR64, ENDBR32, NOP with operands
	}
	inst, err := x86asm.Decode(code, bits)
	if err != nil || inst.Len != in.length {
		return false
	}
	switch inst.Op {
	case x86asm.CMP, x86asm.TEST, x86asm.BT:
	case x86asm.NOP:
		return true
	default:
		return false
	}
	for _, arg := range inst.Args {
		switch arg := arg.(type) {
		case nil, x86asm.Reg, x86asm.Imm:
		case x86asm.Mem:
			// A variable of the object itself: the address is fixed, so no caller can make it
			// fault.
			fixed := arg.Base == x86asm.RIP || bits == 32 && arg.Base == 0
			if !fixed || arg.Index != 0 || arg.Segment != 0 || inst.Op == x86asm.BT {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// x86Text returns the instruction at the start of code in objdump's syntax.
func x86Text(code []byte, addr uint64, bits int) string {
	if string(code) == "\xf3\x0f\x1e\xfa" {
		return "endbr64"
	}
	if string(code) == "\xf3\x0f\x1e\xfb" {
		return "endbr32"
	}
	inst, err := x86asm.Decode(code, bits)
	if err != nil || inst.Len != len(code) {
		return ""
	}
	return x86asm.GNUSyntax(inst, addr, nil)
}

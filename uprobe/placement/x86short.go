package placement

// shortShape returns what follows the opcode of an instruction in 32-bit code. next is the byte
// after the opcode. differs is false if the opcode means the same instruction in 64-bit code
// (SDM volume 2, appendix A).
func (in *x86Inst) shortShape(next byte) (s shape, differs bool) {
	switch op := in.opcode; {
	case op >= 0x40 && op <= 0x4f, // INC, DEC
		op == 0x06, op == 0x07, op == 0x0e, op == 0x16, op == 0x17, op == 0x1e, op == 0x1f, // PUSH, POP of segments
		op == 0x27, op == 0x2f, op == 0x37, op == 0x3f, op == 0xce, // DAA, DAS, AAA, AAS, INTO
		op == 0x60, op == 0x61: // PUSHA, POPA
		return shape{}, true
	case op == 0x82: // as 80
		return shape{modrm: true, imm: imm8}, true
	case op == 0xd4, op == 0xd5: // AAM, AAD
		return shape{imm: imm8}, true
	case (op == 0x62 || op == 0xc4 || op == 0xc5) && next < 0xc0: // BOUND, LES, LDS
		return shape{modrm: true}, true
	}
	return shape{}, false
}

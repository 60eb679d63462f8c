package placement

import "encoding/binary"

// x86Inst is one decoded x86 instruction: its length, and the fields that decide its control
// flow (Intel SDM volume 2, chapter 2 and appendix A).
type x86Inst struct {
	length int
	// opMap is the opcode map: 0 for one byte, 1 for 0F, 2 for 0F 38, 3 for
	// 0F 3A, 5 and 6 for AVX-512's half precision.
	opMap  byte
	opcode byte
	modrm  byte // 0 if it has none
	rex    byte // the whole prefix byte, 0 if there is none
	vector bool // VEX or EVEX encoded
	short  bool // 32-bit code

	size16, repne, rep, lock, segment bool // prefixes 66, F2, F3, F0, and 26, 2E, 36 or 3E
	prefixes                          int  // number of legacy prefixes

	imm int64 // the immediate or the branch's displacement, sign-extended
}

// kinds of immediates and addresses after an opcode.
const (
	immNone = iota
	imm8
	imm16
	immOperand      // 2 bytes with prefix 66, else 4
	immFull         // like immOperand, but 8 bytes with REX.W
	immEnter        // 2 bytes and 1
	immOffset       // a full address: 8 bytes, or 4 in 32-bit code or with prefix 67
	immNear         // a branch's 4 bytes
	immTwo          // two single bytes
	immBad     = -1 // no instruction
)

// decodeX86 decodes the instruction at the start of code, in 64-bit or 32-bit mode. It knows
// all instructions that compilers and assemblers emit, including vector instructions, which
// x86asm does not. It takes a tenth of x86asm's time. ok is false for unknown instructions.
func decodeX86(code []byte, bits int) (in x86Inst, ok bool) {
	in.short = bits == 32
	const longest = 15
	code = code[:min(len(code), longest)]
	i := 0
	address := false // prefix 67: 32-bit addresses, or 16-bit ones in 32-bit code
prefixes:
	for ; i < len(code); i++ {
		switch code[i] {
		case 0x66:
			in.size16 = true
		case 0x67:
			address = true
		case 0xf2:
			in.repne = true
		case 0xf3:
			in.rep = true
		case 0xf0:
			in.lock = true
		case 0x26, 0x2e, 0x36, 0x3e:
			in.segment = true
		case 0x64, 0x65:
		default:
			break prefixes
		}
		in.prefixes++
	}
	if i < len(code) && code[i]&0xf0 == 0x40 && !in.short {
		in.rex = code[i]
		i++
	}
	if i >= len(code) {
		return in, false
	}
	i, hasModRM, imm := in.readOpcode(code, i)
	if imm == immBad {
		return in, false
	}
	if hasModRM {
		if i >= len(code) {
			return in, false
		}
		in.modrm = code[i]
		i++
		if in.modrm>>6 != 3 {
			end := memoryEnd
			if in.short && address {
				end = memoryEnd16
			}
			if i = end(code, i, in.modrm); i < 0 {
				return in, false
			}
		}
		if !in.vector {
			imm = in.groupImmediate(imm)
		}
	}
	size := 0
	switch imm {
	case immBad:
		return in, false
	case imm8:
		size = 1
	case imm16, immTwo:
		size = 2
	case immEnter:
		size = 3
	case immNear:
		// With prefix 66 alone, Intel reads four bytes and AMD two.
		if in.size16 && in.rex&8 == 0 {
			return in, false
		}
		size = 4
	case immOperand, immFull:
		switch {
		case imm == immFull && in.rex&8 != 0:
			size = 8
		case in.size16 && in.rex&8 == 0:
			size = 2
		default:
			size = 4
		}
	case immOffset:
		switch {
		case in.short && address:
			size = 2
		case in.short || address:
			size = 4
		default:
			size = 8
		}
	}
	if i+size > len(code) {
		return in, false
	}
	in.imm = signed(code[i : i+size])
	in.length = i + size
	return in, true
}

func signed(b []byte) int64 {
	switch len(b) {
	case 1:
		return int64(int8(b[0]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case 8:
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// memoryEnd returns the index after a memory operand whose SIB byte or displacement is at i, or
// -1 if the code ends before that.
func memoryEnd(code []byte, i int, modrm byte) int {
	mod, rm := modrm>>6, modrm&7
	if rm == 4 {
		if i >= len(code) {
			return -1
		}
		rm = code[i] & 7 // the base; 5 without a displacement means an absolute address
		i++
	}
	switch {
	case mod == 0 && rm == 5 || mod == 2:
		i += 4
	case mod == 1:
		i++
	}
	if i > len(code) {
		return -1
	}
	return i
}

// memoryEnd16 is memoryEnd for 16-bit addresses.
func memoryEnd16(code []byte, i int, modrm byte) int {
	mod, rm := modrm>>6, modrm&7
	switch {
	case mod == 0 && rm == 6 || mod == 2:
		i += 2
	case mod == 1:
		i++
	}
	if i > len(code) {
		return -1
	}
	return i
}

// readOpcode decodes the opcode at i, after legacy prefixes and REX. It returns the index after
// the opcode.
func (in *x86Inst) readOpcode(code []byte, i int) (next int, hasModRM bool, imm int) {
	at := func(n int) byte {
		if i+n < len(code) {
			return code[i+n]
		}
		return 0 // later checks of the caller detect the end of the code
	}
	in.opcode = code[i]
	if in.short {
		if shape, own := in.shortShape(at(1)); own {
			return i + 1, shape.modrm, int(shape.imm)
		}
	}
	switch in.opcode {
	case 0xc4, 0xc5, 0x62:
		return in.readVector(code, i)
	case 0x0f:
	default:
		shape := oneByte[in.opcode]
		return i + 1, shape.modrm, int(shape.imm)
	}
	if i+1 >= len(code) {
		return i, false, immBad
	}
	switch in.opMap, in.opcode = 1, at(1); in.opcode {
	case 0x38:
		if i+2 >= len(code) {
			return i, false, immBad
		}
		in.opMap, in.opcode = 2, at(2)
		return i + 3, true, immNone
	case 0x3a:
		if i+2 >= len(code) {
			return i, false, immBad
		}
		in.opMap, in.opcode = 3, at(2)
		return i + 3, true, imm8
	case 0x78: // SSE4a with a prefix, else VMREAD
		if in.size16 || in.repne {
			return i + 2, true, immTwo
		}
	case 0xb8: // POPCNT, or the Itanium's JMPE
		if !in.rep {
			return i, false, immBad
		}
	}
	shape := twoByte[in.opcode]
	return i + 2, shape.modrm, int(shape.imm)
}

// readVector decodes a VEX or EVEX prefix and its opcode (SDM volume 2, 2.3 and 2.7).
func (in *x86Inst) readVector(code []byte, i int) (next int, hasModRM bool, imm int) {
	if in.rex != 0 || in.size16 || in.rep || in.repne || in.lock {
		return i, false, immBad
	}
	in.vector = true
	size, opMap := 2, byte(1)
	if code[i] != 0xc5 {
		if i+1 >= len(code) {
			return i, false, immBad
		}
		size, opMap = 3, code[i+1]&0x1f
		if code[i] == 0x62 {
			size, opMap = 4, code[i+1]&7
		}
	}
	if i+size >= len(code) || code[i] == 0x62 && (code[i+1]&8 != 0 || code[i+2]&4 == 0) {
		return i, false, immBad
	}
	isVEX := code[i] != 0x62
	in.opMap, in.opcode = opMap, code[i+size]
	i += size + 1
	switch {
	case opMap == 1 && isVEX && in.opcode == 0x77: // VZEROUPPER, VZEROALL
		return i, false, immNone
	case opMap == 1:
		switch in.opcode {
		case 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6:
			return i, true, imm8
		}
		return i, true, immNone
	case opMap == 2, !isVEX && (opMap == 5 || opMap == 6):
		if opMap != 2 && in.opcode == 0xc2 {
			return i, true, imm8
		}
		return i, true, immNone
	case opMap == 3:
		return i, true, imm8
	}
	return i, false, immBad
}

// groupImmediate returns the immediate of an instruction whose ModRM byte is part of its
// opcode.
func (in *x86Inst) groupImmediate(imm int) int {
	reg := in.modrm >> 3 & 7
	if in.opMap != 0 {
		return imm
	}
	switch in.opcode {
	case 0xf6, 0xf7: // only TEST has an immediate
		if reg > 1 {
			return immNone
		}
	case 0x8f: // POP, or AMD's XOP prefix
		if reg != 0 {
			return immBad
		}
	case 0xc6, 0xc7: // MOV; F8 is XABORT and XBEGIN
		if reg != 0 && in.modrm != 0xf8 {
			return immBad
		}
	case 0xfe:
		if reg > 1 {
			return immBad
		}
	case 0xff:
		if reg == 7 {
			return immBad
		}
	}
	return imm
}

package placement

import (
	"debug/elf"
	"encoding/binary"

	"golang.org/x/arch/arm64/arm64asm"
)

// aarch64 decodes the instruction at offset of an arm64 function (Arm ARM, C4.1; the kernel's
// own masks are in arch/arm64/include/asm/insn.h).
func (f *Function) aarch64(offset int) (instruction, bool) {
	if offset+4 > len(f.Code) {
		return instruction{}, false
	}
	w := binary.LittleEndian.Uint32(f.Code[offset:])
	if w>>16 == 0 { // UDF: data and padding look like it
		return instruction{}, false
	}
	out := instruction{length: 4, stepped: true, refused: aarch64Refused(w)}
	relative := func(bits, shift uint) {
		out.direct = true
		out.target = offset + int(int32(w<<(32-bits-shift))>>(32-bits))*4
		out.stepped = false
	}
	switch {
	case w&0xfc000000 == 0x14000000: // B
		out.flow = flowJump
		relative(26, 0)
	case w&0xfc000000 == 0x94000000: // BL
		relative(26, 0)
	case w&0xff000010 == 0x54000000, w&0x7e000000 == 0x34000000: // B.cond, CBZ, CBNZ
		out.flow = flowBranch
		relative(19, 5)
	case w&0xff000010 == 0x54000010: // BC.cond
		out.flow = flowBranch
		relative(19, 5)
		out.stepped = true
	case w&0x7e000000 == 0x36000000: // TBZ, TBNZ
		out.flow = flowBranch
		relative(14, 5)
	case w&0x1f000000 == 0x10000000: // ADR, ADRP
		out.stepped = false
	case w&0xfffffc1f == 0xd65f0000: // RET
		out.flow, out.stepped = flowReturn, false
	case w&0xfffffbff == 0xd65f0bff, w&0xffdffbff == 0xd69f03e0, // RETAA, RETAB; ERET, ERETAA, ERETAB
		w&0xffc0001f == 0x5500001f, w&0xfffffbe0 == 0xd65f0be0: // RETAASPPC and its register form
		out.flow = flowReturn
	case w&0xfffffc1f == 0xd61f0000: // BR
		out.flow, out.stepped = flowIndirect, false
	case w&0xfefff800 == 0xd61f0800: // BRAA and its variants
		out.flow = flowIndirect
	case w&0xfffffc1f == 0xd63f0000: // BLR
		out.stepped = false
	}
	return out, true
}

// aarch64Refused returns the reason if the kernel rejects a probe on the instruction
// (arch/arm64/kernel/probes/decode-insn.c), or would execute it wrongly.
func aarch64Refused(w uint32) string {
	switch {
	case w&0xff000000 == 0xd4000000:
		return "it raises an exception"
	case w&0xfff00000 == 0xd5100000, w&0xfff8f01f == 0xd500401f:
		return "it writes a system register"
	case w&0xffffffe0 == 0xd53b4220:
		return "it reads the interrupt mask"
	case w&0xfffff01f == 0xd503201f && !aarch64SteppableHint(w):
		return "the kernel can't execute this hint out of line"
	case w&0xfefff800 == 0xd61f0800, w&0xfefff800 == 0xd63f0800, w&0xfffffbff == 0xd65f0bff,
		w&0xffdffbff == 0xd69f03e0, w&0xffc0001f == 0x5500001f, w&0xfffffbe0 == 0xd65f0be0:
		return "it is a branch with an authenticated address"
	case w&0xff000010 == 0x54000010:
		return "the kernel doesn't know this branch"
	case w&0x3b000000 == 0x18000000:
		return "it loads relative to itself"
	case w&0x3f800000 == 0x08000000:
		return "it is an exclusive access"
	case w&0x3b200c00 == 0x19000400:
		return "it is a part of a memory copy"
	}
	return ""
}

// aarch64SteppableHint reports whether a hint may run out of line
// (aarch64_insn_is_steppable_hint). Hints that check an address were removed from the list in
// 5.10.
func aarch64SteppableHint(w uint32) bool {
	switch w >> 5 & 0x7f {
	case 0x00, // NOP
		0x07, 0x08, 0x0a, // XPACLRI, PACIA1716, PACIB1716
		0x18, 0x19, 0x1a, 0x1b, // PACIAZ, PACIASP, PACIBZ, PACIBSP
		0x20, 0x22, 0x24, 0x26: // BTI
		return true
	}
	return false
}

// aarch64Quiet is the arm64 version of x86Quiet.
func aarch64Quiet(w uint32) bool {
	switch {
	case w == 0xd503201f, w&0xffffff3f == 0xd503241f: // NOP, BTI
		return true
	case w&0x1f == 0x1f && w&0x7f800000 == 0x71000000, // CMP with an immediate
		w&0x1f == 0x1f && w&0x7f800000 == 0x31000000, // CMN
		w&0x1f == 0x1f && w&0x7f800000 == 0x72000000: // TST
		return true
	case w&0x1f == 0x1f && (w&0x7f200000 == 0x6b000000 || w&0x7f200000 == 0x2b000000), // CMP, CMN with a shifted register
		w&0x1f == 0x1f && (w&0x7fe00000 == 0x6b200000 || w&0x7fe00000 == 0x2b200000), // with an extended one
		w&0x1f == 0x1f && w&0x7f200000 == 0x6a000000:                                 // TST
		return true
	case w&0x3fe00410 == 0x3a400000: // CCMP, CCMN
		return true
	}
	return false
}

// constants marks the words of the function that its instructions load as constants. arm64
// compilers, including Go's, put constants after a function's code, and one may look like an
// instruction.
func (f *Function) constants() []bool {
	if f.Machine != elf.EM_AARCH64 {
		return nil
	}
	words := make([]bool, len(f.Code)/4)
	for i := range words {
		w := binary.LittleEndian.Uint32(f.Code[i*4:])
		const doubleWord, pair = 1, 2
		size, isVector := w>>30, w>>26&1 != 0
		if w&0x3b000000 != 0x18000000 || size == 3 && !isVector { // LDR (literal), not PRFM
			continue
		}
		n := 1
		switch {
		case size == doubleWord:
			n = 2
		case size == pair && isVector:
			n = 4
		}
		first := i + int(int32(w<<8)>>13)
		for k := max(first, 0); k < min(first+n, len(words)); k++ {
			words[k] = true
		}
	}
	return words
}

// aarch64Text returns the instruction at the start of code in objdump's syntax.
func aarch64Text(code []byte) string {
	inst, err := arm64asm.Decode(code)
	if err != nil {
		return ""
	}
	return arm64asm.GNUSyntax(inst)
}

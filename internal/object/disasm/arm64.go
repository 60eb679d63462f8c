package disasm

import (
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"
)

// arm64 decodes the first instruction of code, which is little-endian even if data is not.
func (d *Decoder) arm64(w within, code []byte, address uint64) Inst {
	const size = 4
	if len(code) < size {
		return Inst{Address: address, Len: len(code), Text: fmt.Sprintf(".byte  %#x", code)}
	}
	inst := Inst{Address: address, Len: size}
	a, err := arm64asm.Decode(code)
	if err != nil {
		inst.Text = fmt.Sprintf(".inst  %#08x", binary.LittleEndian.Uint32(code))
		return inst
	}
	text := arm64asm.GNUSyntax(a)
	for _, arg := range a.Args {
		rel, ok := arg.(arm64asm.PCRel)
		if !ok {
			continue
		}
		to, isCall := address+uint64(rel), a.Op == arm64asm.BL
		if a.Op == arm64asm.ADRP {
			const page = 1 << 12
			to = address&^(page-1) + uint64(rel)
		}
		if isJump(a.Op) {
			inst.Target, inst.Jumps = to, true
		}
		operand := fmt.Sprintf("%x", to)
		if isCall || inst.Jumps {
			operand = w.target(to, isCall)
		} else if name := w.place(to); name != "" && a.Op != arm64asm.ADRP { // of a page, the start has no meaning
			operand += " <" + name + ">"
		}
		text = strings.Replace(text, strings.ToLower(rel.String()), operand, 1)
	}
	if hint := hints[text]; hint != "" {
		text = hint
	}
	inst.Text = padded(strings.ReplaceAll(text, ",#", ", #"))
	return inst
}

// hints are the names of hints for pointer authentication and branch targets, which older CPUs take
// for no operation.
var hints = map[string]string{
	"hint #0x7": "xpaclri", "hint #0x19": "paciasp", "hint #0x1b": "pacibsp", "hint #0x1d": "autiasp", "hint #0x1f": "autibsp",
	"hint #0x20": "bti", "hint #0x22": "bti c", "hint #0x24": "bti j", "hint #0x26": "bti jc",
}

// isJump reports whether an instruction with an address jumps there.
func isJump(op arm64asm.Op) bool {
	switch op {
	case arm64asm.B, arm64asm.CBZ, arm64asm.CBNZ, arm64asm.TBZ, arm64asm.TBNZ:
		return true
	}
	return false
}

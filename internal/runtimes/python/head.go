package python

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// headOf returns the address of the variable that a getter returns: in 3.6,
// PyInterpreterState_Head returns a variable that is not exported.
func headOf(p *interp.Process, function uint64) (uint64, bool) {
	var code [16]byte
	if !p.Memory.Read(function, code[:]) {
		return 0, false
	}
	word := func(offset int) uint32 { return binary.LittleEndian.Uint32(code[offset:]) }
	switch p.Arch {
	case callchain.AMD64: // [endbr64]; mov variable(%rip), %rax
		at := 0
		if word(0) == 0xfa1e0ff3 {
			at = 4
		}
		if code[at] != 0x48 || code[at+1] != 0x8b || code[at+2] != 0x05 {
			return 0, false
		}
		return function + uint64(at+7) + uint64(int64(int32(word(at+3)))), true
	case callchain.ARM64: // adrp x0, page; ldr x0, [x0, #offset]
		page, load := word(0), word(4)
		if page&0x9f00001f != 0x90000000 || load&0xffc003ff != 0xf9400000 {
			return 0, false
		}
		pages := int64(int32(page>>5&0x7ffff<<2|page>>29&3)<<11) >> 11
		return function&^0xfff + uint64(pages<<12) + uint64(load>>10&0xfff)*8, true
	}
	return 0, false
}

package symbols

import (
	"bytes"
	"debug/elf"

	"golang.org/x/arch/x86/x86asm"
)

// maxReached is the maximum number of instructions that Reaches looks at.
const maxReached = 1 << 12

// Reaches reports whether the code at file offset start can get to offset without a call or a
// return. If so, both belong to one function. Use it if no symbol gives the function's size
// (Symbol.Guessed). It follows only amd64 code; for other code it returns true.
func (f *File) Reaches(start, offset uint64) bool {
	if f.Machine() != elf.EM_X86_64 || start == offset {
		return true
	}
	seen := make(map[uint64]bool)
	var code []byte
	from := uint64(0) // offset of code
	for ways := []uint64{start}; len(ways) > 0 && len(seen) < maxReached; {
		at := ways[len(ways)-1]
		ways = ways[:len(ways)-1]
		for !seen[at] && len(seen) < maxReached {
			const page, longest = 1024, 15
			if at < from || at+longest > from+uint64(len(code)) {
				code, from = f.codeAt(at, page), at
			}
			if at-from >= uint64(len(code)) {
				break
			}
			inst, err := decode(code[at-from:])
			if err != nil {
				return true // as the vector instructions of AVX: what follows is unknown
			}
			next := at + uint64(inst.Len)
			if at <= offset && offset < next {
				return true
			}
			seen[at] = true
			to, direct := inst.Args[0].(x86asm.Rel)
			if direct && inst.Op != x86asm.CALL {
				ways = append(ways, next+uint64(int64(to)))
			}
			if inst.Op == x86asm.JMP && !direct {
				return true // the cases of a switch may be anywhere
			}
			if inst.Op == x86asm.RET || inst.Op == x86asm.HLT || inst.Op == x86asm.UD2 || inst.Op == x86asm.JMP {
				break
			}
			at = next
		}
	}
	return false
}

// decode decodes an amd64 instruction. x86asm does not know endbr64, with which most functions start.
func decode(code []byte) (x86asm.Inst, error) {
	if endbr64 := []byte{0xf3, 0x0f, 0x1e, 0xfa}; bytes.HasPrefix(code, endbr64) {
		return x86asm.Inst{Op: x86asm.NOP, Len: len(endbr64)}, nil
	}
	return x86asm.Decode(code, 64)
}

// codeAt returns at most n bytes at offset, fewer at the end of the file.
func (f *File) codeAt(offset, n uint64) []byte {
	b := make([]byte, n)
	got, _ := f.image.Reader.ReadAt(b, int64(offset))
	return b[:max(0, got)]
}

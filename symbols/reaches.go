package symbols

import (
	"debug/elf"

	"golang.org/x/arch/x86/x86asm"
)

// maxReached bounds the instructions that Reaches looks at.
const maxReached = 1 << 12

// Reaches says whether code that begins at one offset of the file can come to another
// without a call or a return: whether both are of one function, where no symbol tells
// its size (Symbol.Guessed). Only amd64 code is followed; of other code it is true.
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
			inst, err := x86asm.Decode(code[at-from:], 64)
			if err != nil {
				break
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

// codeAt is at most n bytes of the file at an offset, those that there are.
func (f *File) codeAt(offset, n uint64) []byte {
	b := make([]byte, n)
	got, _ := f.image.Reader.ReadAt(b, int64(offset))
	return b[:max(0, got)]
}

package placement

import (
	"debug/elf"
	"fmt"
)

// Limits of Entry's search. No prologue that it can pass is longer.
const (
	maxSkip         = 32
	maxInstructions = 6
)

// Entry returns by how many bytes to move a probe on the function's entry forward so that the
// kernel need not single-step the probed instruction. why says briefly, for display, why the
// probe is moved or not. If skip is 0 and why is "", the first instruction is cheap already.
//
// Every call of the function passes the new place exactly once, and a probe there fetches the
// same values as at the first instruction: see the package documentation.
func (f *Function) Entry() (skip int, why string) {
	if len(f.Code) == 0 {
		return 0, "the function's size is not known"
	}
	if check := f.goStackCheck(); check > 0 {
		in, ok := f.at(check)
		if !ok || in.refused != "" {
			return 0, fmt.Sprintf("the kernel takes no probe behind Go's check of the stack: %s", in.refused)
		}
		if why := f.entered(check, true); why != "" {
			return 0, why
		}
		return check, fmt.Sprintf("%#x bytes past Go's check of the stack, which a call may run through several times", check)
	}
	first, ok := f.at(0)
	if !ok {
		return 0, (&NotCodeError{0}).Error()
	}
	if !first.stepped {
		return 0, ""
	}
	if first.refused != "" && f.fillsVector(0) {
		in, ok := f.at(first.length)
		if !ok || in.refused != "" {
			return 0, first.refused
		}
		if why := f.entered(first.length, false); why != "" {
			return 0, why
		}
		return first.length, fmt.Sprintf("%#x bytes past %q, on which the kernel allows no probe", first.length, f.text(0, first.length))
	}
	in := first
	for n := 0; in.stepped; n++ {
		if n == maxInstructions || skip >= maxSkip {
			return 0, "no instruction that the kernel emulates is near the function's start"
		}
		if !f.quiet(skip) {
			return 0, fmt.Sprintf("%q changes what a probe may read", f.text(skip, in.length))
		}
		skip += in.length
		if skip >= len(f.Code) {
			return 0, "the function ends before an instruction that the kernel emulates"
		}
		if in, ok = f.at(skip); !ok {
			return 0, (&NotCodeError{skip}).Error()
		}
	}
	if why := f.entered(skip, false); why != "" {
		return 0, why
	}
	return skip, fmt.Sprintf("%#x bytes past %q, which the kernel would single-step, to %q", skip, f.text(0, first.length), f.text(skip, in.length))
}

// entered returns how control may reach an instruction after the first one, up to limit,
// without passing the first one. It returns "" if that is impossible. A Go prologue is
// generated separately from the function's body, so no jump table can lead into it.
func (f *Function) entered(limit int, goPrologue bool) (why string) {
	err := f.each(func(offset int, in instruction) bool {
		switch {
		case in.direct && in.target > 0 && in.target <= limit:
			why = fmt.Sprintf("the jump at +%#x leads to +%#x", offset, in.target)
		case in.flow == flowIndirect && !goPrologue:
			why = fmt.Sprintf("the target of the jump at +%#x is unknown", offset)
		}
		return why == ""
	})
	if err != nil {
		return err.Error()
	}
	return why
}

// fillsVector reports whether the instruction at an offset only copies a general register into
// a vector register, or clears one, in AVX form: vpbroadcastb/w/d/q, vmovd, vmovq, vpxor. No
// probe can read a vector register. memset, strchr and others of glibc start with such an
// instruction.
func (f *Function) fillsVector(offset int) bool {
	in, ok := decodeX86(f.Code[offset:], f.bits())
	if f.Machine != elf.EM_X86_64 || !ok || !in.vector || in.modrm>>6 != 3 {
		return false
	}
	// Intel SDM volume 2, opcode maps 0F and 0F38.
	switch in.opMap {
	case 1:
		return in.opcode == 0x6e || in.opcode == 0xef
	case 2:
		return in.opcode >= 0x7a && in.opcode <= 0x7c
	}
	return false
}

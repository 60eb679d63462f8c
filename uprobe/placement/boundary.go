package placement

import (
	"debug/elf"
	"fmt"
)

// NotBoundaryError says that a place lies inside an instruction.
type NotBoundaryError struct {
	// Offset is the place asked for, in bytes from the function's start.
	Offset int
	// Start is where the instruction around it begins, and Length its size in bytes.
	Start, Length int
	// Instruction is its text as objdump prints it.
	Instruction string
}

func (e *NotBoundaryError) Error() string {
	return fmt.Sprintf("+%#x is inside the instruction %q, which starts at +%#x and has %d bytes", e.Offset, e.Instruction, e.Start, e.Length)
}

// NotCodeError says that a function's bytes can't be read as instructions from
// its start to a place, so that nobody can tell what is an instruction there:
// there is data between the code, or code for another machine.
type NotCodeError struct {
	// Offset is where reading ended, in bytes from the function's start.
	Offset int
}

func (e *NotCodeError) Error() string {
	return fmt.Sprintf("no known instruction is at +%#x of the function", e.Offset)
}

// OutsideError says that a place is not in the function.
type OutsideError struct {
	// Offset is the place asked for and Size the function's size, in bytes.
	Offset, Size int
}

func (e *OutsideError) Error() string {
	return fmt.Sprintf("+%#x is not in the function, which has %#x bytes", e.Offset, e.Size)
}

// RefusedError says that the kernel takes no probe on an instruction.
type RefusedError struct {
	// Offset is the instruction's place in bytes from the function's start.
	Offset int
	// Instruction is its text as objdump prints it.
	Instruction string
	// Reason is why.
	Reason string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the kernel does not allow a probe on %q at +%#x: %s", e.Instruction, e.Offset, e.Reason)
}

// each calls visit with every instruction in the order of their addresses until
// it says false. It returns a *NotCodeError where reading had to end. On arm64
// it passes over words that are no instruction: padding and constants, behind
// which the next word is as good as before.
func (f *Function) each(visit func(offset int, in instruction) bool) error {
	for offset := 0; offset < len(f.Code); {
		in, ok := f.at(offset)
		if !ok {
			if f.Machine == elf.EM_AARCH64 && offset+4 <= len(f.Code) {
				offset += 4
				continue
			}
			return &NotCodeError{offset}
		}
		if !visit(offset, in) {
			return nil
		}
		offset += in.length
	}
	return nil
}

// Boundary returns nil if an instruction starts at offset. It reads the
// function from its start on, and would rather refuse a place than accept a
// wrong one, because a breakpoint inside an instruction makes the program
// execute something else: *NotBoundaryError names the instruction around the
// place, *NotCodeError says that bytes before it are no known instruction, and
// *OutsideError that it isn't in the function.
func (f *Function) Boundary(offset int) error {
	if offset < 0 || offset >= len(f.Code) {
		return &OutsideError{offset, len(f.Code)}
	}
	if f.Machine == elf.EM_AARCH64 && offset%4 == 0 {
		if _, ok := f.at(offset); !ok || f.constants()[offset/4] {
			return &NotCodeError{offset}
		}
		return nil
	}
	var found error
	err := f.each(func(start int, in instruction) bool {
		if start < offset && offset < start+in.length {
			found = &NotBoundaryError{offset, start, in.length, f.text(start, in.length)}
		}
		return start+in.length <= offset
	})
	if err != nil {
		return err
	}
	return found
}

// Probeable returns nil if a probe can be placed at offset: if an instruction
// starts there, with Boundary's errors, and if the kernel can execute it at
// another address, else a *RefusedError. The kernel itself says so only where a
// process has mapped the file when the probe is made, and is silent otherwise.
func (f *Function) Probeable(offset int) error {
	if err := f.Boundary(offset); err != nil {
		return err
	}
	if in, _ := f.at(offset); in.refused != "" {
		return &RefusedError{offset, f.text(offset, in.length), in.refused}
	}
	return nil
}

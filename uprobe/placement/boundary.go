package placement

import (
	"debug/elf"
	"fmt"
)

// NotBoundaryError is returned if a place is inside an instruction.
type NotBoundaryError struct {
	// Offset is the requested place, in bytes from the function's start.
	Offset int
	// Start is where the surrounding instruction starts, and Length its size in bytes.
	Start, Length int
	// Instruction is its text in objdump's syntax.
	Instruction string
}

func (e *NotBoundaryError) Error() string {
	return fmt.Sprintf("+%#x is inside the instruction %q, which starts at +%#x and has %d bytes", e.Offset, e.Instruction, e.Start, e.Length)
}

// NotCodeError is returned if a function's bytes cannot be decoded from its start to a place,
// so that the instruction boundaries are unknown: there is data within the code, or code for
// another machine.
type NotCodeError struct {
	// Offset is where decoding stopped, in bytes from the function's start.
	Offset int
}

func (e *NotCodeError) Error() string {
	return fmt.Sprintf("no known instruction is at +%#x of the function", e.Offset)
}

// OutsideError is returned if a place is not in the function.
type OutsideError struct {
	// Offset is the requested place and Size the function's size, in bytes.
	Offset, Size int
}

func (e *OutsideError) Error() string {
	return fmt.Sprintf("+%#x is not in the function, which has %#x bytes", e.Offset, e.Size)
}

// RefusedError is returned if the kernel rejects a probe on an instruction, or executes it
// wrongly.
type RefusedError struct {
	// Offset is the instruction's place in bytes from the function's start.
	Offset int
	// Instruction is its text in objdump's syntax.
	Instruction string
	// Reason says why.
	Reason string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the kernel does not allow a probe on %q at +%#x: %s", e.Instruction, e.Offset, e.Reason)
}

// each calls visit with every instruction, in address order, until visit returns false. If
// decoding fails, it returns a *NotCodeError. On arm64 it skips words that are no instructions
// (padding and constants), since the next word is aligned anyway.
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

// Boundary returns nil if an instruction starts at offset. It decodes the function from its
// start. In doubt it returns an error, because a breakpoint inside an instruction makes the
// program execute something else. The errors are:
//
//   - *NotBoundaryError: the place is inside an instruction;
//   - *NotCodeError: bytes before it are no known instruction;
//   - *OutsideError: the place is not in the function.
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

// Probeable returns nil if a probe can be placed at offset. If no instruction starts there, the
// error is Boundary's. If the kernel cannot execute the instruction at another address, it is a
// *RefusedError. The kernel itself checks this only if a process maps the file when the probe
// is made; otherwise it reports no error.
func (f *Function) Probeable(offset int) error {
	if err := f.Boundary(offset); err != nil {
		return err
	}
	if in, _ := f.at(offset); in.refused != "" {
		return &RefusedError{offset, f.text(offset, in.length), in.refused}
	}
	return nil
}

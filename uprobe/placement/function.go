package placement

import (
	"debug/elf"
	"errors"
	"fmt"
)

// Function is the machine code of one function as it stands in its file.
type Function struct {
	// Machine is the ELF machine: EM_X86_64 or EM_AARCH64.
	Machine elf.Machine
	// Code holds the whole function from its first instruction on, and nothing
	// behind its last. It is only read.
	Code []byte
	// Addr is the virtual address of Code[0].
	Addr uint64
}

// NotBoundaryError says that a place lies inside an instruction.
type NotBoundaryError struct {
	// Offset is the place asked for, in bytes from the function's start.
	Offset int
	// Start is where the instruction around it begins, and Length its size in bytes.
	Start, Length int
	// Instruction is its text in the GNU assembler's form.
	Instruction string
}

func (e *NotBoundaryError) Error() string {
	return fmt.Sprintf("+%#x is in the middle of %q, which starts at +%#x and takes %d bytes", e.Offset, e.Instruction, e.Start, e.Length)
}

// Entry is the number of bytes that an entry probe moves forward.
func (f *Function) Entry() (skip int, why string) { return 0, "" }

// Boundary is nil if an instruction starts at offset.
func (f *Function) Boundary(offset int) error { return nil }

// Returns are the offsets of all returns.
func (f *Function) Returns() ([]int, error) { return nil, errors.New("unfinished") }

// Stepped says whether the kernel would single-step the instruction at offset.
func (f *Function) Stepped(offset int) bool { return true }

// Probeable is nil if the kernel takes a probe at offset.
func (f *Function) Probeable(offset int) error { return nil }

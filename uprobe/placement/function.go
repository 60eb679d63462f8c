package placement

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// Function is the machine code of one function as it stands in its file. It is
// a plain value, and its methods only read it.
type Function struct {
	// Machine is the ELF machine: EM_X86_64, EM_386 or EM_AARCH64.
	Machine elf.Machine
	// Code holds the whole function from its first instruction on, and nothing
	// behind its last.
	Code []byte
	// Addr is the virtual address of Code[0]. It only shows in texts.
	Addr uint64
}

// at reads the instruction at an offset inside the code.
func (f *Function) at(offset int) (instruction, bool) {
	switch f.Machine {
	case elf.EM_X86_64, elf.EM_386:
		return f.x86(offset)
	case elf.EM_AARCH64:
		return f.aarch64(offset)
	}
	return instruction{}, false
}

// bits is the size of an address of the x86 machine.
func (f *Function) bits() int {
	if f.Machine == elf.EM_386 {
		return 32
	}
	return 64
}

// quiet says whether the instruction at offset leaves everything as it is that
// a probe could read.
func (f *Function) quiet(offset int) bool {
	if f.Machine == elf.EM_AARCH64 {
		return aarch64Quiet(binary.LittleEndian.Uint32(f.Code[offset:]))
	}
	return x86Quiet(f.Code[offset:], f.bits())
}

// text is the instruction at offset, of the given length, as objdump prints it,
// or its bytes where the disassembler doesn't know it.
func (f *Function) text(offset, length int) string {
	code := f.Code[offset : offset+length]
	text := ""
	if f.Machine == elf.EM_AARCH64 {
		text = aarch64Text(code)
	} else {
		text = x86Text(code, f.Addr+uint64(offset), f.bits())
	}
	if text == "" {
		return fmt.Sprintf("% x", code)
	}
	return text
}

// Stepped says whether the kernel would single-step the instruction at offset
// when a probe there is hit; else it carries the instruction out on its own,
// which costs a fraction. Where kernels differ it answers for the one that
// steps: the package's documentation has a table. Bytes that are no instruction
// count as stepped.
func (f *Function) Stepped(offset int) bool {
	if offset < 0 || offset >= len(f.Code) {
		return true
	}
	in, ok := f.at(offset)
	return !ok || in.stepped
}

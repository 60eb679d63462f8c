package placement

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// Function is the machine code of one function as it is in its file. It is a plain value, and
// its methods only read it.
type Function struct {
	// Machine is the ELF machine: EM_X86_64, EM_386 or EM_AARCH64.
	Machine elf.Machine
	// Code is the whole function from its first instruction on, without any bytes after its
	// last.
	Code []byte
	// Addr is the virtual address of Code[0]. Addresses and the texts of errors use it.
	Addr uint64
}

// at decodes the instruction at an offset inside the code.
func (f *Function) at(offset int) (instruction, bool) {
	switch f.Machine {
	case elf.EM_X86_64, elf.EM_386:
		return f.x86(offset)
	case elf.EM_AARCH64:
		return f.aarch64(offset)
	}
	return instruction{}, false
}

func (f *Function) bits() int {
	if f.Machine == elf.EM_386 {
		return 32
	}
	return 64
}

// quiet reports whether the instruction at offset leaves everything that a probe could read
// unchanged.
func (f *Function) quiet(offset int) bool {
	if f.Machine == elf.EM_AARCH64 {
		return aarch64Quiet(binary.LittleEndian.Uint32(f.Code[offset:]))
	}
	return x86Quiet(f.Code[offset:], f.bits())
}

// text returns the instruction at offset, of the given length, in objdump's syntax. If the
// disassembler does not know it, it returns the bytes.
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

// Stepped reports whether the kernel would single-step the instruction at offset when a probe
// there is hit. Otherwise it emulates the instruction, which costs a fraction. If kernels
// differ, it returns true: the package documentation has a table. It also returns true for
// bytes that are no instruction.
func (f *Function) Stepped(offset int) bool {
	if offset < 0 || offset >= len(f.Code) {
		return true
	}
	in, ok := f.at(offset)
	return !ok || in.stepped
}

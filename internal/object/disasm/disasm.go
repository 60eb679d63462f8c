package disasm

import (
	"debug/elf"
	"fmt"
)

// Syntax is a way to write x86 instructions.
type Syntax int

// The syntaxes that objdump -M knows.
const (
	ATT Syntax = iota
	Intel
)

// Decoder decodes code of one file.
type Decoder struct {
	Machine elf.Machine // EM_X86_64, EM_386 or EM_AARCH64
	Syntax  Syntax      // of x86
	// Name returns the name of the function or variable at an address and the address where it
	// starts, or "". A nil Name names nothing.
	Name func(address uint64) (name string, start uint64)
}

// Inst is an instruction.
type Inst struct {
	Address uint64
	Len     int // in bytes
	// Text is the instruction without its address. Names in it are as Decoder.Name returns them.
	Text string
	// Target is the address that a direct jump leads to. Jumps reports whether there is one.
	Target uint64
	Jumps  bool
}

// CanDecode reports whether this package decodes the code of a machine.
func CanDecode(m elf.Machine) bool {
	return m == elf.EM_X86_64 || m == elf.EM_386 || m == elf.EM_AARCH64
}

// Function decodes the code of a function that starts at address. Each byte belongs to exactly one
// instruction. What is no instruction is written as objdump does: (bad) for a byte of x86, and
// .inst with the word on arm64.
//
// Jumps within the function name the address alone, as do all places that Name does not know.
func (d *Decoder) Function(code []byte, address uint64) []Inst {
	decode := d.x86
	if d.Machine == elf.EM_AARCH64 {
		decode = d.arm64
	}
	w := within{d, address, address + uint64(len(code))}
	var all []Inst
	for len(code) > 0 {
		inst := decode(w, code, address)
		all = append(all, inst)
		code, address = code[inst.Len:], address+uint64(inst.Len)
	}
	return all
}

// within names addresses for the code of a function.
type within struct {
	*Decoder
	start, end uint64
}

// target returns the text of a jump's or a call's operand.
func (w within) target(address uint64, isCall bool) string {
	if !isCall && address >= w.start && address < w.end {
		return fmt.Sprintf("%x", address)
	}
	if name := w.place(address); name != "" {
		return name
	}
	return fmt.Sprintf("%x", address)
}

// place returns the name of an address, with the distance from the name's start; "" if it has none.
func (w within) place(address uint64) string {
	if w.Name == nil {
		return ""
	}
	name, start := w.Name(address)
	if name == "" || start == address {
		return name
	}
	return fmt.Sprintf("%s+%#x", name, address-start)
}

// comment returns the address that an operand refers to, as objdump writes it after the instruction.
func (w within) comment(mark string, address uint64) string {
	if name := w.place(address); name != "" {
		return fmt.Sprintf("  %s %x <%s>", mark, address, name)
	}
	return fmt.Sprintf("  %s %x", mark, address)
}

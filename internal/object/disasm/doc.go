// Package disasm turns the machine code of amd64, i386 and arm64 into text.
//
//	d := disasm.Decoder{Machine: elf.EM_X86_64, Name: names}
//	for _, inst := range d.Function(code, address) {
//		fmt.Printf("%x:\t%s\n", inst.Address, inst.Text)
//	}
//
// golang.org/x/arch decodes the instructions. This package names the addresses in them and writes
// them as objdump does where x/arch differs: see x86.go. It does not execute, and it does not
// follow jumps: code is decoded from the first byte to the last.
package disasm

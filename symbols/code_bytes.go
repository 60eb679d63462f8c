package symbols

import "debug/elf"

// Vaddr returns the virtual address that the file has for the byte at offset.
func (f *File) Vaddr(offset uint64) (uint64, bool) { return f.image.Vaddr(offset) }

// Machine returns the instruction set of the file's code.
func (f *File) Machine() elf.Machine { return f.image.Machine }

// maxCode is the most bytes that Code returns.
const maxCode = 16 << 20

// Code returns n bytes of the file at offset, 16 MiB at most, in memory of the
// caller's own.
func (f *File) Code(offset, n uint64) ([]byte, error) { return f.image.Read(offset, n, maxCode) }

// IsGo reports whether the file is a Go program: whether it has the function
// table that Go's runtime needs.
func (f *File) IsGo() bool { return false }

package symbols

import (
	"debug/elf"
	"errors"

	"github.com/ringtap/ringtap/internal/gotable"
)

// Vaddr returns the virtual address that the file has for the byte at offset
// when it is mapped as its program headers say.
func (f *File) Vaddr(offset uint64) (uint64, bool) { return f.image.Vaddr(offset) }

// Offset is the inverse of Vaddr: it is the segment that holds vaddr that says
// where in the file that is.
func (f *File) Offset(vaddr uint64) (uint64, bool) { return f.image.Offset(vaddr) }

// Machine returns the instruction set of the file's code.
func (f *File) Machine() elf.Machine { return f.image.Machine }

// maxCode is the most bytes that Code returns.
const maxCode = 16 << 20

// Code returns n bytes of the file at offset, 16 MiB at most, in memory of the
// caller's own.
func (f *File) Code(offset, n uint64) ([]byte, error) { return f.image.Read(offset, n, maxCode) }

// IsGo reports whether the file has the function table that Go's runtime needs:
// whether code of it may be Go's.
func (f *File) IsGo() bool {
	t, _ := f.goTable()
	return t != nil
}

// goTable reads the function table of Go once. It stays in memory as long as the
// File is used; nil without an error when there is none.
func (f *File) goTable() (*gotable.Table, error) {
	f.goOnce.Do(func() {
		f.goTab, f.goErr = gotable.Open(f.image)
		if errors.Is(f.goErr, gotable.ErrNone) {
			f.goErr = nil
		}
	})
	return f.goTab, f.goErr
}

package symbols

import (
	"debug/elf"
	"errors"

	"github.com/ringtap/ringtap/internal/object/gotable"
)

// Vaddr returns the virtual address of the byte at offset, by the file's program headers.
func (f *File) Vaddr(offset uint64) (uint64, bool) { return f.image.Vaddr(offset) }

// Offset is the inverse of Vaddr: it finds the segment that contains vaddr.
func (f *File) Offset(vaddr uint64) (uint64, bool) { return f.image.Offset(vaddr) }

// Machine returns the instruction set of the file's code.
func (f *File) Machine() elf.Machine { return f.image.Machine }

const maxCode = 16 << 20

// Code returns a copy of n bytes of the file at offset. n is at most 16 MiB.
func (f *File) Code(offset, n uint64) ([]byte, error) { return f.image.Read(offset, n, maxCode) }

// IsGo reports whether the file has the function table of Go's runtime, so that its code may be
// Go code.
func (f *File) IsGo() bool {
	t, _ := f.goTable()
	return t != nil
}

// goTable reads Go's function table on the first call and keeps it as long as the File is used.
// It returns nil without an error if there is none.
func (f *File) goTable() (*gotable.Table, error) {
	f.goOnce.Do(func() {
		f.goTab, f.goErr = gotable.Open(f.image)
		if errors.Is(f.goErr, gotable.ErrNone) {
			f.goErr = nil
		}
	})
	return f.goTab, f.goErr
}

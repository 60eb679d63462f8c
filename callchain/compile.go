package callchain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/ringtap/ringtap/internal/object/callframe"
	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/object/gotable"
)

// ErrNoTable is returned when a file has no unwind information that ringtap reads: no
// .eh_frame, no .debug_frame, no Go function table. Its code is unwound by frame pointer.
var ErrNoTable = errors.New("no unwind information")

// source is the section that describes a function. If several describe the same code, the first
// one in this order wins.
type source uint8

const (
	fromFrames source = iota // .eh_frame, and .debug_frame for code that Go's table does not cover
	fromGo
	fromTrampoline
	fromPLT
)

// function is one function's unwind information before it is compiled.
type function struct {
	start, end uint64 // file offsets
	source     source
	index      int // index in Go's table, form of a linkage table, or kind of trampoline
	frame      callframe.Function
}

// Compile opens the unwind information of an ELF file for amd64, i386 or arm64: .eh_frame, Go's
// pclntab, and .debug_frame for code that these two do not cover. In a file without sections,
// PT_GNU_EH_FRAME leads to .eh_frame. If a section is malformed, its readable part is used. The
// error wraps ErrNoTable if the file has nothing to read.
//
// The file is untrusted: its size bounds memory and work. Call frame sections above 128 MiB are
// refused. The Table keeps reading f.
func Compile(f io.ReaderAt) (*Table, error) {
	file, err := elfimage.New(f, math.MaxInt64)
	if err != nil {
		return nil, fmt.Errorf("compile unwind table: %w", err)
	}
	t := &Table{file: file, arch: archOf(file.Machine), code: codeSegments(file)}
	if t.arch == 0 || file.Is64 != (t.arch.WordSize() == 8) || file.Order != binary.LittleEndian {
		return nil, fmt.Errorf("compile unwind table: %v is not supported: %w", file.Machine, ErrNoTable)
	}
	if broken := t.open(); t.empty() {
		return nil, errors.Join(fmt.Errorf("compile unwind table: %w", ErrNoTable), broken)
	}
	return t, nil
}

// open finds the sections that describe functions. Its error lists the malformed ones.
func (t *Table) open() error {
	var errEH, errGo, errDebug error
	t.eh, errEH = callframe.EHFrame(t.file)
	if t.eh != nil && t.eh.Len() == 0 {
		t.eh = nil
	}
	if t.golang, errGo = findGoTable(t.file); t.golang == nil && t.eh == nil {
		errDebug = t.openLate()
	}
	return errors.Join(errEH, errGo, errDebug)
}

func (t *Table) empty() bool {
	return t.eh == nil && t.golang == nil && t.debug == nil && len(t.fixed) == 0
}

// openLate opens the sections needed only for code that .eh_frame and Go's table do not cover.
func (t *Table) openLate() (err error) {
	if t.late {
		return nil
	}
	t.late = true
	// A Go binary's .debug_frame says less than its pclntab: nothing about the frame pointer.
	if t.golang == nil {
		if t.debug, err = callframe.DebugFrame(t.file); t.debug != nil && t.debug.Len() == 0 {
			t.debug = nil
		}
	}
	t.addTrampolines() // Linux 6.1's vdso for arm64 has nothing else
	if !t.empty() {
		t.addPLT()
	}
	return err
}

// function returns the description of the function with the code byte at a file offset.
func (t *Table) function(offset uint64) (function, bool) {
	vaddr, ok := t.vaddr(offset)
	if !ok {
		return function{}, false
	}
	if t.eh != nil {
		if f, ok := t.eh.Find(vaddr); ok && understood(&f) {
			return t.place(function{frame: f}, f.Start, f.End)
		}
	}
	if t.golang != nil {
		if i, ok := t.golang.Find(vaddr); ok {
			f := t.golang.Func(i)
			if next := t.golang.Func(i + 1); t.isSigreturn(&next) {
				// A handler returns to its first byte. We look up return addresses minus one,
				// so the byte before must belong to it.
				if f.End--; vaddr == f.End {
					return t.place(function{source: fromTrampoline, index: goSigreturn}, f.End, next.End)
				}
			}
			return t.place(function{source: fromGo, index: int(i)}, f.Entry, f.End)
		}
	}
	_ = t.openLate() // malformed sections give no rules
	if t.debug != nil {
		if f, ok := t.debug.Find(vaddr); ok && understood(&f) {
			return t.place(function{frame: f}, f.Start, f.End)
		}
	}
	for _, f := range t.fixed {
		if offset >= f.start && offset < f.end {
			return f, true
		}
	}
	return function{}, false
}

// isSigreturn reports whether f is the function that signal handlers return to in a Go program
// without cgo.
func (t *Table) isSigreturn(f *gotable.Func) bool {
	return string(t.golang.Name(f.Name(), maxGoName)) == sigreturnName
}

// vaddr returns the virtual address of a file offset in an executable segment.
func (t *Table) vaddr(offset uint64) (uint64, bool) {
	for _, p := range t.code {
		if offset-p.Off < p.Filesz {
			return p.Vaddr + (offset - p.Off), true
		}
	}
	return 0, false
}

// place converts a function's virtual addresses to file offsets. It returns false if the
// function is not in an executable segment.
func (t *Table) place(f function, start, end uint64) (function, bool) {
	for _, p := range t.code {
		if start-p.Vaddr < p.Filesz {
			f.start = start - p.Vaddr + p.Off
			f.end = f.start + min(end-start, p.Filesz-(start-p.Vaddr))
			return f, f.start < f.end
		}
	}
	return f, false
}

// addFixed adds a function that no section describes.
func (t *Table) addFixed(f function, start, end uint64) {
	if f, ok := t.place(f, start, end); ok {
		t.fixed = append(t.fixed, f)
	}
}

// compile returns the rows of a function.
func (t *Table) compile(f *function) *rows {
	b := &t.builder
	b.reset(t.arch, f.start, f.end)
	switch f.source {
	case fromTrampoline:
		b.trampoline(f)
	case fromPLT:
		b.plt(f)
	case fromGo:
		b.golang(t.golang, f)
	default:
		b.frame(f)
	}
	return b.finish()
}

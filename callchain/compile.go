package callchain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/ringtap/ringtap/internal/callframe"
	"github.com/ringtap/ringtap/internal/elfimage"
	"github.com/ringtap/ringtap/internal/gotable"
)

// ErrNoTable says that a file holds no unwind information that ringtap reads:
// no .eh_frame, no .debug_frame, no Go function table. Its code is unwound by
// frame pointer.
var ErrNoTable = errors.New("no unwind information")

// source orders the sections that may describe the same code: the first one is
// believed.
type source uint8

const (
	fromFrames source = iota // .eh_frame, and .debug_frame behind Go's table
	fromGo
	fromTrampoline
	fromPLT
)

// function is one function's unwind information before it is compiled.
type function struct {
	start, end uint64 // file offsets
	source     source
	index      int // the function's place in Go's table, the form of a linkage table, or the kind of a trampoline
	frame      callframe.Function
}

// Compile opens the unwind information of an ELF file for amd64, i386 or arm64:
// .eh_frame (found by its section, or by PT_GNU_EH_FRAME in a file without
// sections), Go's pclntab, and .debug_frame for what these two do not cover. Of
// what is malformed the readable part is used. The error wraps ErrNoTable for a
// file that has nothing to read.
//
// The file is read as untrusted: memory and work are bounded by its size.
// Sections of call frame information above 128 MiB are refused. The Table goes on
// to read f.
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

// open finds what describes functions. Its error says what was broken.
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

// openLate finds what is needed only where .eh_frame and Go's table say nothing.
func (t *Table) openLate() (err error) {
	if t.late {
		return nil
	}
	t.late = true
	// A Go binary's .debug_frame says less than its pclntab does: nothing about the
	// frame pointer.
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

// function finds what describes the code byte at a file offset.
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
				// A handler returns to its first byte. One is subtracted from return
				// addresses, so that the byte before belongs to it.
				if f.End--; vaddr == f.End {
					return t.place(function{source: fromTrampoline, index: goSigreturn}, f.End, next.End)
				}
			}
			return t.place(function{source: fromGo, index: int(i)}, f.Entry, f.End)
		}
	}
	_ = t.openLate() // what is broken has no rules
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

// isSigreturn reports whether a function is what handlers of signals return to in a Go
// program without cgo.
func (t *Table) isSigreturn(f *gotable.Func) bool {
	return string(t.golang.Name(f.Name(), maxGoName)) == sigreturnName
}

// vaddr is the virtual address of a file offset in an executable segment.
func (t *Table) vaddr(offset uint64) (uint64, bool) {
	for _, p := range t.code {
		if offset-p.Off < p.Filesz {
			return p.Vaddr + (offset - p.Off), true
		}
	}
	return 0, false
}

// place finds out where in the file a function is. It is false for one that does
// not lie in an executable segment.
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

// addFixed keeps a function that no section describes.
func (t *Table) addFixed(f function, start, end uint64) {
	if f, ok := t.place(f, start, end); ok {
		t.fixed = append(t.fixed, f)
	}
}

// compile makes the rows of a function.
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

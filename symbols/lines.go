package symbols

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ringtap/ringtap/symbols/dwarfline"

	"github.com/ringtap/ringtap/internal/elfimage"
)

// Line is one level of source positions at an address. Its Function is the raw
// name; see Demangle.
type Line = dwarfline.Line

// lineSources are what Lines reads, found at its first call.
type lineSources struct {
	once  sync.Once
	goTab *goLines
	err   error

	mu    sync.Mutex // an Index serves one goroutine at a time
	dwarf *dwarfline.Index
}

// Lines returns the functions and source lines of the instruction at
// fileOffset: the innermost inlined function first, the function that the symbol
// tables know last. Go code is looked up in Go's own table, other code in the
// DWARF sections of the file or of its separate debug file. Where neither says
// anything of the place the result is nil, without an error.
//
// The first call reads those sections to memory, where they stay as long as the
// File is used: about the size of the file for a large program with debug
// information.
func (f *File) Lines(fileOffset uint64) ([]Line, error) {
	addr, ok := f.image.Vaddr(fileOffset)
	if !ok {
		return nil, nil
	}
	s := &f.lines
	s.once.Do(func() { s.open(f) })
	if s.goTab != nil {
		if lines := s.goTab.lines(addr); len(lines) > 0 {
			return lines, nil
		}
	}
	if s.dwarf == nil {
		return nil, s.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, err := s.dwarf.Lookup(addr)
	if err != nil {
		return nil, fmt.Errorf("source lines: %w", err)
	}
	return lines, nil
}

// LinesErr returns why Lines found no inlined functions of some code: the first split file
// (-gsplit-dwarf) that it needed and could not read. It is nil if there was none.
func (f *File) LinesErr() error {
	s := &f.lines
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dwarf == nil {
		return nil
	}
	return s.dwarf.SplitErr()
}

func (s *lineSources) open(f *File) {
	var err error
	if table, err := f.goTable(); table != nil {
		s.goTab = &goLines{table, f.image.Order}
	} else {
		s.err = err
	}
	image := f.image
	if !hasDWARF(image) {
		if image, err = f.debugImage(); err != nil {
			s.err = errors.Join(s.err, err)
		}
	}
	if image == nil || !hasDWARF(image) {
		return
	}
	if s.dwarf, err = dwarfline.Open(&debugSections{image: image, split: splitFiles{opts: f.opts, order: image.Order}}, image.Order); err != nil {
		s.err = errors.Join(s.err, err)
	}
}

// hasDWARF reports whether there is debug information to read.
func hasDWARF(m *elfimage.Image) bool {
	for _, name := range []string{".debug_info", ".zdebug_info"} {
		if _, ok := m.Section(name); ok {
			return true
		}
	}
	return false
}

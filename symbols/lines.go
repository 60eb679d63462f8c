package symbols

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ringtap/ringtap/symbols/dwarfline"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Line is one level of the source positions at an address. Its Function is a raw name; see
// Demangle.
type Line = dwarfline.Line

// lineSources are the tables that Lines reads. The first call finds them.
type lineSources struct {
	once  sync.Once
	goTab *goLines
	err   error

	mu    sync.Mutex // an Index may be used by one goroutine at a time
	dwarf *dwarfline.Index
}

// Lines returns the functions and source lines of the instruction at fileOffset. The innermost
// inlined function is first; the function that the symbol tables know is last. Go code is
// looked up in Go's own table, other code in the DWARF of the file or of its separate debug
// file. If neither covers the place, the result is nil without an error.
//
// The first call reads these sections into memory and keeps them as long as the File is used.
// For a large program with debug information, that is about the size of the file.
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

// LinesErr returns why Lines may have missed inlined functions: the error of the first split
// file (-gsplit-dwarf) that could not be read. It is nil if there was none.
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

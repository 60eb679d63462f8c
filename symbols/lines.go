package symbols

import "sync"

// Line is one level of source positions at an address.
type Line struct {
	Function  string // raw name: mangled in C++ and Rust
	File      string // path as the compiler was given it
	Line      int    // 0 when not known
	StartLine int    // line that Function begins at, 0 when not known
}

// lineSources are what Lines reads, each once.
type lineSources struct {
	once  sync.Once
	gotab *goTable
}

// Lines returns the functions and source lines of the instruction at
// fileOffset: the innermost inlined function first, the function that the symbol
// tables know last. Where a file has no line information for the place the
// result is empty, without an error. The first call reads the Go function table
// or debug information.
func (f *File) Lines(fileOffset uint64) ([]Line, error) {
	addr, ok := f.image.vaddr(fileOffset)
	if !ok {
		return nil, nil
	}
	f.lines.once.Do(func() { f.lines.gotab, _ = openGoTable(f.image) })
	if f.lines.gotab != nil {
		if lines := f.lines.gotab.lines(addr); len(lines) > 0 {
			return lines, nil
		}
	}
	return nil, nil
}

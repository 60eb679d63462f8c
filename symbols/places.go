package symbols

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// Place is the first instruction of a source line.
type Place struct {
	Offset   uint64 // file offset in bytes
	Function string // raw name of the function or inlined function that contains the line
	File     string // path of the source file as the compiler recorded it
	Line     int    // counted from 1
}

// ErrNoLines is wrapped by Places's error if the file has no information about source lines.
var ErrNoLines = errors.New("no debug information about source lines")

// NoSourceError is returned by Places if no code of the file comes from the source file.
type NoSourceError struct{ File string }

func (e *NoSourceError) Error() string {
	return fmt.Sprintf("no code comes from a source file %s", e.File)
}

// NoCodeError is returned by Places for a line without code.
type NoCodeError struct {
	File string
	Line int
	Next int // the next line with code, 0 if there is none
}

func (e *NoCodeError) Error() string {
	if e.Next == 0 {
		return fmt.Sprintf("no code at line %d of %s or after it", e.Line, e.File)
	}
	return fmt.Sprintf("no code at line %d of %s; the next line with code is %d", e.Line, e.File, e.Next)
}

// Places returns the first instruction of a source line in each function, and in each inlined
// copy, that has code of the line. The result is sorted by offset. sourceFile is an absolute
// path or the end of one, in whole path elements. If it matches several source files, all are
// searched, and Place.File distinguishes them.
//
// The error is a *NoSourceError if no source file matches, and a *NoCodeError if the line has
// no code. It wraps ErrNoLines if there is neither DWARF (here or in a separate debug file) nor
// Go's table.
func (f *File) Places(sourceFile string, line int) ([]Place, error) {
	s := &f.lines
	s.once.Do(func() { s.open(f) })
	if s.dwarf == nil && s.goTab == nil {
		return nil, errors.Join(ErrNoLines, s.err)
	}
	var found dwarfline.Statements
	if s.dwarf != nil {
		var err error
		s.mu.Lock()
		found, err = s.dwarf.Places(sourceFile, line)
		s.mu.Unlock()
		if err != nil && s.goTab == nil {
			return nil, fmt.Errorf("source lines: %w", err)
		}
	}
	if len(found.Files) == 0 && s.goTab != nil {
		found = s.goTab.places(sourceFile, line)
	}
	if len(found.Files) == 0 {
		return nil, &NoSourceError{sourceFile}
	}
	places := make([]Place, 0, len(found.Places))
	for _, p := range found.Places {
		if offset, ok := placeIn(f.image, p.Addr); ok {
			places = append(places, Place{offset, p.Function, p.File, p.Line})
		}
	}
	if len(places) == 0 {
		return nil, &NoCodeError{sourceFile, line, found.Next}
	}
	slices.SortStableFunc(places, func(x, y Place) int { return cmp.Compare(x.Offset, y.Offset) })
	return places, nil
}

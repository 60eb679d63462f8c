package symbols

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// Place is an instruction that a line of source code begins with.
type Place struct {
	Offset   uint64 // in the file, bytes
	Function string // raw name of the function, or inlined copy, that the line is part of
	File     string // path of the source file as the compiler recorded it
	Line     int    // counted from 1
}

// ErrNoLines is wrapped by the error of Places for a file that does not say which
// source lines its code comes from.
var ErrNoLines = errors.New("no debug information about source lines")

// NoSourceError is the error of Places for a source file that no code of the
// file comes from.
type NoSourceError struct{ File string }

func (e *NoSourceError) Error() string {
	return fmt.Sprintf("no code comes from a source file %s", e.File)
}

// NoCodeError is the error of Places for a line without code.
type NoCodeError struct {
	File string
	Line int
	Next int // the next line with code, 0 when there is none
}

func (e *NoCodeError) Error() string {
	if e.Next == 0 {
		return fmt.Sprintf("no code at line %d of %s or after it", e.Line, e.File)
	}
	return fmt.Sprintf("no code at line %d of %s; the next line with code is %d", e.Line, e.File, e.Next)
}

// Places returns the instructions that a source line begins with, sorted by
// offset: for each function that has code of the line, and for each inlined copy
// of one, the first. sourceFile is an absolute path or the end of one, whole names
// of folders: when several source files share it all are meant, and Place.File
// tells them apart. It is a *NoSourceError when there is no such source file, a
// *NoCodeError when the line has no code, an error that wraps ErrNoLines when
// there is nothing to look in: neither DWARF, here or in a separate debug file,
// nor Go's table.
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

package symbols

import (
	"errors"
	"fmt"
)

var errNotYet = errors.New("not written yet")

// Place is an instruction that a line of source code begins with.
type Place struct {
	Offset   uint64 // in the file, bytes
	Function string // raw name of the function, or inlined copy, that the line is part of
	File     string // path of the source file as the compiler recorded it
	Line     int    // counted from 1
}

// NoCodeError is the error of Places for a line without code.
type NoCodeError struct {
	File string
	Line int
	Next int // the next line with code, 0 when there is none
}

func (e *NoCodeError) Error() string {
	if e.Next == 0 {
		return fmt.Sprintf("%s:%d: no code at this line or after it", e.File, e.Line)
	}
	return fmt.Sprintf("%s:%d: no code at this line; the next with code is %d", e.File, e.Line, e.Next)
}

// Places returns the instructions at which a debugger would stop for a source
// line: for each function and each inlined copy the first. sourceFile is a path
// or the end of one.
func (f *File) Places(sourceFile string, line int) ([]Place, error) { return nil, errNotYet }

// Package usage has the error type for command lines that make no sense. Flags, parsers and
// lookups in the running system return it. The program then exits with code 2.
package usage

import "fmt"

// Error says that the command line is to blame for Err.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with the command line.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error whose text is formatted as by fmt.Errorf.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Package usage has the error of a command line that makes no sense, whoever finds that
// out: a flag, a parser, or what is asked of the running system. It exits with code 2.
package usage

import "fmt"

// Error says that the command line is to blame for Err.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with the command line.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error, with verbs as fmt.Errorf has them.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

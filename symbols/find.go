package symbols

import "errors"

var errNotYet = errors.New("not written yet")

// Find returns the functions called name: those whose raw name it is or, when
// there is none, those whose source name it is, with or without parameters.
// No such function is nil, without an error.
func (f *File) Find(name string) ([]Function, error) { return nil, errNotYet }

// Match returns the functions of which a name matches pattern (* ? [a-z]), raw
// or demangled, one for each place, the Defined ones only.
func (f *File) Match(pattern string) ([]Function, error) { return nil, errNotYet }

// Nearest returns at most n names of functions that resemble name, the most
// similar first.
func (f *File) Nearest(name string, n int) []string { return nil }

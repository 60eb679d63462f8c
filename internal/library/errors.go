package library

import "strings"

// NotFoundError says that no file has the name.
type NotFoundError struct {
	Name string
	Near []string // names of commands and libraries that are much like it, nearest first
}

func (e *NotFoundError) Error() string {
	s := e.Name + ": no such command or library"
	if len(e.Near) > 0 {
		s += "; near it: " + strings.Join(e.Near, ", ")
	}
	return s
}

// AmbiguousError says that several files have the name with equal right.
type AmbiguousError struct {
	Name  string
	Paths []string
}

func (e *AmbiguousError) Error() string {
	return e.Name + " is ambiguous: " + strings.Join(e.Paths, ", ") + "; give the path"
}

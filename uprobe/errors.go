package uprobe

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/symbols"
)

// Reasons in a TargetError.
var (
	ErrNotELF    = symbols.ErrNotELF
	ErrTruncated = errors.New("the file is cut short")
	ErrMachine   = errors.New("code for another machine")
	// ErrInlined is wrapped if a function has no code of its own because it was inlined.
	ErrInlined = errors.New("was inlined wherever it is called")
	ErrNoCode  = errors.New("it contains no code that could run: it is an object file or only debug information")
)

// TargetError is returned if a file was found but cannot be probed.
type TargetError struct {
	Path string
	Err  error
}

func (e *TargetError) Error() string { return escape.Text(e.Path + ": " + e.Err.Error()) }

// Unwrap returns the reason.
func (e *TargetError) Unwrap() error { return e.Err }

// SymbolError is returned if a target has no function of that name that can be probed.
type SymbolError struct {
	Name string
	Path string
	// Imported says that Path only calls the function. Library is the path of the library that
	// has it, or "" if none was found.
	Imported bool
	Library  string
	Stripped bool     // Path has no symbol table, only dynamic symbols
	Near     []string // similar names, best first
}

func (e *SymbolError) Error() string {
	var out strings.Builder
	switch {
	case e.Imported && e.Library != "":
		fmt.Fprintf(&out, "%s calls %s but does not have it: probe %s", e.Path, e.Name, e.Library)
	case e.Imported:
		fmt.Fprintf(&out, "%s calls %s but does not have it: it is in a library that is loaded with it", e.Path, e.Name)
	default:
		fmt.Fprintf(&out, "%s has no function %s", e.Path, e.Name)
	}
	if e.Stripped && !e.Imported {
		out.WriteString("; its symbol table was stripped, and no debug file was found: only exported functions have names")
	}
	if len(e.Near) > 0 {
		out.WriteString("; " + match.DidYouMean(e.Near))
	}
	return escape.Text(out.String())
}

// TooManyError is returned if a definition matches more sites than Options.MaxSites.
type TooManyError struct {
	Definition string
	Count, Max int
}

func (e *TooManyError) Error() string {
	return escape.Text(fmt.Sprintf("%s matches %d places, and the limit is %d", e.Definition, e.Count, e.Max))
}

// PlaceError is returned if an offset cannot be probed. If the instruction is the reason, Err
// is one of package placement's errors.
type PlaceError struct {
	Path   string
	Offset uint64 // file offset
	Err    error
}

func (e *PlaceError) Error() string {
	return escape.Text(fmt.Sprintf("%s, file offset %#x: %v", e.Path, e.Offset, e.Err))
}

// Unwrap returns the reason.
func (e *PlaceError) Unwrap() error { return e.Err }

// MarkError is returned if a target has no USDT probe of that name.
type MarkError struct {
	Path, Provider, Name string
	Known                []string // all probes that it has, as provider:name, sorted
}

func (e *MarkError) Error() string {
	if len(e.Known) == 0 {
		return escape.Text(e.Path + " has no USDT probes")
	}
	return escape.Text(fmt.Sprintf("%s has no USDT probe %s:%s; it has %s", e.Path, e.Provider, e.Name, several(e.Known)))
}

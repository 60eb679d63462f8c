package kprobe

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/names"
)

// ErrAddressesHidden says that a definition needs addresses of the kernel's, which
// it does not show.
var ErrAddressesHidden = errors.New("the kernel hides its addresses in /proc/kallsyms: run as root, and set kernel.kptr_restrict=1 if it is 2")

// SymbolError says that the kernel has no function of a name.
type SymbolError struct {
	Name    string
	Module  string // that was asked for, "" for none
	Pattern bool   // Name is a pattern
	// Today are the names of functions that are there and are what Name was, or
	// do its work: do_sys_openat2 for do_sys_open.
	Today []string
	Why   string   // what became of it, or what Name is if it is no function
	Near  []string // names that resemble it, nearest first
	// Alias is the word before Name, which may have been meant for the function,
	// and AliasNear the functions that resemble it.
	Alias     string
	AliasNear []string
}

func (e *SymbolError) Error() string {
	var out strings.Builder
	name := (&Function{Name: e.Name, Module: e.Module}).String()
	if e.Pattern {
		fmt.Fprintf(&out, "no function of the kernel matches %s", name)
	} else {
		fmt.Fprintf(&out, "the kernel has no function %s", name)
	}
	if len(e.Today) > 0 {
		fmt.Fprintf(&out, "; today it is %s", strings.Join(e.Today, ", "))
	}
	if e.Why != "" && len(e.Today) > 0 {
		fmt.Fprintf(&out, " (%s)", e.Why)
	} else if e.Why != "" {
		out.WriteString(": " + e.Why)
	}
	if len(e.Near) > 0 {
		out.WriteString("; " + names.DidYouMean(e.Near))
	}
	if len(e.AliasNear) > 0 {
		fmt.Fprintf(&out, "; if %s is the function: %s", e.Alias, names.DidYouMean(e.AliasNear))
	}
	return escape.Text(out.String())
}

// BlacklistedError says why no probe can be placed in a function that is there.
type BlacklistedError struct {
	Name    string // as Function.String has it
	Why     string
	Instead string // the tracepoint that tells about the same, "" if none does
}

func (e *BlacklistedError) Error() string {
	text := fmt.Sprintf("%s can't be probed: %s", e.Name, e.Why)
	if e.Instead != "" {
		text += "; the tracepoint " + e.Instead + " tells about it: ringtap tpoint " + e.Instead
	}
	return escape.Text(text)
}

// TooManyError says that a definition stands for more sites than are allowed.
type TooManyError struct {
	Definition string
	Count, Max int
}

func (e *TooManyError) Error() string {
	return escape.Text(fmt.Sprintf("%s matches %d places, and the limit is %d", e.Definition, e.Count, e.Max))
}

// PlaceError says that an address or an offset is no place for a probe. Err is
// one of package placement's errors where an instruction is the reason.
type PlaceError struct {
	Place string // FUNCTION+0xOFFSET or 0xADDRESS
	Err   error
}

func (e *PlaceError) Error() string { return escape.Text(fmt.Sprintf("%s: %v", e.Place, e.Err)) }

// Unwrap returns the reason.
func (e *PlaceError) Unwrap() error { return e.Err }

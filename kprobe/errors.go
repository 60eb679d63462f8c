package kprobe

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/internal/text/match"
)

// ErrAddressesHidden is returned if a definition needs kernel addresses, and the kernel hides
// them.
var ErrAddressesHidden = errors.New("the kernel hides its addresses in /proc/kallsyms: run as root, and set kernel.kptr_restrict=1 if it is 2")

// SymbolError is returned if the kernel has no function of that name.
type SymbolError struct {
	Name    string
	Module  string // the requested module, "" for none
	Pattern bool   // Name is a pattern
	// Today are existing functions that replace Name or do its work: do_sys_openat2 for
	// do_sys_open.
	Today []string
	Why   string   // why Name is missing, or what Name is if it is no function
	Near  []string // similar names, best first
	// Alias is the word before Name, which the user may have meant as the function. AliasNear
	// are the functions with similar names.
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
		out.WriteString("; " + match.DidYouMean(e.Near))
	}
	if len(e.AliasNear) > 0 {
		fmt.Fprintf(&out, "; if %s is the function: %s", e.Alias, match.DidYouMean(e.AliasNear))
	}
	return escape.Text(out.String())
}

// BlacklistedError is returned if a function exists but cannot be probed.
type BlacklistedError struct {
	Name    string // as returned by Function.String
	Why     string
	Instead string // a tracepoint with the same information, "" if there is none
}

func (e *BlacklistedError) Error() string {
	text := fmt.Sprintf("%s can't be probed: %s", e.Name, e.Why)
	if e.Instead != "" {
		text += "; the tracepoint " + e.Instead + " tells about it: ringtap tpoint " + e.Instead
	}
	return escape.Text(text)
}

// TooManyError is returned if a definition matches more sites than Options.MaxSites.
type TooManyError struct {
	Definition string
	Count, Max int
}

func (e *TooManyError) Error() string {
	return escape.Text(fmt.Sprintf("%s matches %d places, and the limit is %d", e.Definition, e.Count, e.Max))
}

// PlaceError is returned if an address or an offset cannot be probed. If the instruction is the
// reason, Err is one of package placement's errors.
type PlaceError struct {
	Place string // FUNCTION+0xOFFSET or 0xADDRESS
	Err   error
}

func (e *PlaceError) Error() string { return escape.Text(fmt.Sprintf("%s: %v", e.Place, e.Err)) }

// Unwrap returns the reason.
func (e *PlaceError) Unwrap() error { return e.Err }

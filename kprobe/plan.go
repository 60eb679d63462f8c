package kprobe

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// Plan is a resolved definition: the instructions that will be probed. It keeps no files open,
// and is valid until a module is loaded or unloaded.
type Plan struct {
	Definition *Definition
	Sites      []Site // at least one
	// Notes tell the user where the probes differ from what the definition may have meant. Each
	// is a sentence.
	Notes []string

	text uint64 // address of _stext, the start of the kernel's code; 0 if not needed
}

// Site is one probed instruction.
type Site struct {
	// Symbol is the function's name for the kernel, MODULE:NAME in a module. It is "" if the
	// definition is an address or the name is ambiguous: then the site is at Address.
	Symbol   string
	Offset   uint64 // of the instruction, in bytes from the function's start
	Address  uint64 // of the instruction in memory, 0 if unknown
	Function Function
	Event    string // name of the event, unique in the plan
	Return   bool   // a return probe
	Args     []ftrace.FetchArg
}

// Place returns the site in the syntax of kprobe_events.
func (s *Site) Place() string {
	switch {
	case s.Symbol == "":
		return fmt.Sprintf("%#x", s.Address)
	case s.Offset > 0:
		return fmt.Sprintf("%s+%d", s.Symbol, s.Offset)
	}
	return s.Symbol
}

// Name returns the name of the plan's event, or of the first one if there are several.
func (p *Plan) Name() string { return p.Sites[0].Event }

// String returns the definition with the function found and its arguments as written: "p:myopen
// do_sys_openat2 mode=%cx:u16". If there are several sites, it shows the first one and the
// number of the others.
func (p *Plan) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%c:%s %s", p.Definition.Kind, p.Sites[0].Event, p.Sites[0].Place())
	if p.Definition.Fetch != "" {
		out.WriteString(" " + p.Definition.Fetch)
	}
	if n := len(p.Sites) - 1; n > 0 {
		fmt.Fprintf(&out, " and %d more", n)
	}
	return escape.Text(out.String())
}

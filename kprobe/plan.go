package kprobe

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/escape"
)

// Plan is a definition that has been resolved: the instructions that will be
// probed. It holds nothing open, and is true as long as no module comes or goes.
type Plan struct {
	Definition *Definition
	Sites      []Site // at least one
	// Notes tell the user what was understood differently from what the
	// definition may have meant, each a sentence.
	Notes []string

	text uint64 // address of the symbol _stext, where the kernel's code begins; 0 if there was no need to know
}

// Site is one instruction that is probed.
type Site struct {
	// Symbol is the function as the kernel takes it, MODULE:NAME of a module's.
	// It is "" where the kernel takes no name: then Address says where the site is.
	Symbol   string
	Offset   uint64 // of the instruction, bytes behind the function's start
	Address  uint64 // of the instruction in memory, 0 if it is not known
	Function Function
	Event    string // name of the event, unique in the plan
	Return   bool   // when the function returns
	Args     []ftrace.FetchArg
}

// Place is where the site is, in the grammar of kprobe_events.
func (s *Site) Place() string {
	switch {
	case s.Symbol == "":
		return fmt.Sprintf("%#x", s.Address)
	case s.Offset > 0:
		return fmt.Sprintf("%s+%d", s.Symbol, s.Offset)
	}
	return s.Symbol
}

// Name is the name of the plan's event, of the first where there are several.
func (p *Plan) Name() string { return p.Sites[0].Event }

// String is the definition with the function that was found, its arguments as
// they were written: "p:myopen do_sys_openat2 mode=%cx:u16". Of several sites it
// shows the first and says how many more there are.
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

package uprobe

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/escape"
)

// Plan is a definition that has been resolved: the instructions that will be
// probed. It holds the target's file open.
type Plan struct {
	Definition *Definition
	Path       string // of the target, for people
	Sites      []Site // at least one
	// Notes tell the user what was understood differently from what the
	// definition may have meant, each a sentence.
	Notes []string

	target *target
}

// Site is one instruction that is probed.
type Site struct {
	KernelPath string // leads the kernel to the file; good until the Plan is closed
	Offset     uint64 // of the instruction in the file
	RefCtr     uint64 // file offset of a USDT probe's semaphore, 0 if it has none
	Return     bool   // a kernel return probe; where one would harm the program, return instructions are probed
	Go         bool   // in compiled Go code
	// Unwound, of a kernel return probe, says that exceptions may be thrown through
	// the function: such a one would end the program.
	Unwound bool
	Symbol  string // raw name of the function, "" if not known
	Event   string // name of the event, unique in the plan
	Args    []ftrace.FetchArg
	Moved   uint64 // bytes from the function's first instruction to Offset, if placement moved it
	Why     string // why it was moved, or was not, for people
	// Entry says that at this instruction the function's frame is not set up
	// yet: the return address is on top of the stack, or in the link register.
	Entry bool
	// Inlined says that the instruction begins a copy of the function that was inlined into another
	// one. The copy has no return.
	Inlined bool
}

// Name is the name of the plan's event, of the first where there are several.
func (p *Plan) Name() string { return p.Sites[0].Event }

// String is the definition as perf-tools shows it, with the file and the offset
// that were found: "p:readline /bin/bash:0x8db60". Of several sites it shows the
// first and says how many more there are.
func (p *Plan) String() string {
	site := &p.Sites[0]
	var out strings.Builder
	fmt.Fprintf(&out, "%c:%s %s:%#x", p.Definition.Kind, site.Event, p.Path, site.Offset)
	if p.Definition.Fetch != "" {
		out.WriteString(" " + p.Definition.Fetch)
	}
	if n := len(p.Sites) - 1; n > 0 {
		fmt.Fprintf(&out, " and %d more", n)
	}
	return escape.Text(out.String())
}

// Close closes the target's file. Attachments must be closed before.
func (p *Plan) Close() error { return p.target.close() }

package uprobe

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// Plan is a resolved definition: the instructions that will be probed. It keeps the target's
// file open.
type Plan struct {
	Definition *Definition
	Path       string // of the target, for display
	Sites      []Site // at least one
	// Notes tell the user where the probes differ from what the definition may have meant. Each
	// is a sentence.
	Notes []string

	target *target
}

// Site is one probed instruction.
type Site struct {
	KernelPath string // path of the file for the kernel; valid until the Plan is closed
	Offset     uint64 // file offset of the instruction
	RefCtr     uint64 // file offset of a USDT probe's semaphore, 0 if it has none
	Return     bool   // a kernel return probe; if that would harm the program, return instructions are probed instead
	Go         bool   // in compiled Go code
	// Unwound says, for a kernel return probe, that exceptions may pass through the function.
	// An exception would then end the program.
	Unwound bool
	Symbol  string // raw name of the function, "" if unknown
	Event   string // name of the event, unique in the plan
	Args    []ftrace.FetchArg
	Moved   uint64 // if the probe was moved: bytes from the function's first instruction to Offset
	Why     string // why it was moved or not, for display
	// Entry says that the function has not set up its frame yet at this instruction: the return
	// address is on top of the stack, or in the link register.
	Entry bool
	// Inlined says that the instruction starts an inlined copy of the function, which has no
	// return.
	Inlined bool
}

// Name returns the name of the plan's event, or of the first one if there are several.
func (p *Plan) Name() string { return p.Sites[0].Event }

// String returns the definition as perf-tools shows it, with the file and offset found:
// "p:readline /bin/bash:0x8db60". If there are several sites, it shows the first one and the
// number of the others.
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

// Close closes the target's file. Close the attachments first.
func (p *Plan) Close() error { return p.target.close() }

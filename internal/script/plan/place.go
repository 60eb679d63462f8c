package plan

import (
	"strings"

	"github.com/ringtap/ringtap/internal/names"
	"github.com/ringtap/ringtap/internal/script/syntax"
)

// impossible refuses a sort of attach point.
func (p *planner) impossible() {
	switch p.point.Provider {
	case "iter":
		p.refuse("interval:s:1 { … } runs without an event; ps and /proc list what there is",
			"an iterator is a BPF program that walks through the kernel's lists")
	case "asyncwatchpoint":
		p.refuse("watchpoint:ADDRESS:LENGTH:MODE", "a watchpoint on a function's argument would have to be set while the function is entered")
	default:
		p.refuse("", "%s is not possible without BPF", p.point.Provider)
	}
}

// tracepoint is tracepoint:SYSTEM:EVENT. A rawtracepoint, whose system the host finds, is the
// same without its fields.
func (p *planner) tracepoint() *Event {
	if len(p.point.Args) != 2 {
		p.refuse("", "a tracepoint is tracepoint:SYSTEM:EVENT")
		return nil
	}
	return &Event{Place: Tracepoint, Definition: strings.Join(p.point.Args, ":")}
}

// isReturn tells whether an attach point is at a function's return.
func isReturn(point *syntax.AttachPoint) bool {
	switch point.Provider {
	case "uretprobe", "kretprobe", "fexit":
		return true
	}
	return false
}

// kind is what definitions of an attach point begin with.
func (p *planner) kind() string {
	if isReturn(p.point) {
		return "r:"
	}
	return "p:"
}

// kernel is kprobe:[MODULE:]FUNCTION[+OFFSET] and its relatives.
func (p *planner) kernel() *Event {
	args := p.point.Args
	if len(args) == 0 || len(args) > 2 {
		p.refuse("", "a kernel function is %s:FUNCTION or %[1]s:MODULE:FUNCTION", p.point.Provider)
		return nil
	}
	if module, err := names.ParseGlob(args[0]); len(args) == 2 && err == nil && module.Match("vmlinux") {
		args = args[1:] // no module, but the kernel
	}
	return &Event{Place: Kernel, Definition: p.kind() + strings.Join(args, ":")}
}

// user is uprobe:TARGET:FUNCTION[+OFFSET], TARGET:cpp:FUNCTION, TARGET:0xOFFSET, or
// TARGET@FILE:LINE.
func (p *planner) user() *Event {
	args := p.point.Args
	switch {
	case len(args) >= 4 && args[1] == "@":
		// A column is left out: all statements of the line are probed.
		args = []string{args[0], args[2] + ":" + args[3]}
	case len(args) == 3 && args[1] == "cpp":
		args = []string{args[0], args[2]}
	}
	if len(args) != 2 {
		p.refuse("", "a user function is %s:PROGRAM:FUNCTION", p.point.Provider)
		return nil
	}
	return &Event{Place: User, Definition: p.kind() + word(args[0]) + ":" + word(args[1])}
}

// mark is usdt:TARGET:[PROVIDER:]NAME.
func (p *planner) mark() *Event {
	args := p.point.Args
	switch len(args) {
	case 2:
		args = []string{args[0], "*", args[1]}
	case 3:
		if args[1] == "" {
			args = []string{args[0], "*", args[2]}
		}
	default:
		p.refuse("", "a USDT probe is usdt:PROGRAM:NAME or usdt:PROGRAM:PROVIDER:NAME")
		return nil
	}
	return &Event{Place: User, Definition: "u:" + word(args[0]) + ":" + args[1] + ":" + args[2]}
}

// word quotes a part of a definition that would otherwise end within it. Quotes make a name
// of a pattern, so that what needs none gets none.
func word(text string) string {
	if !strings.ContainsAny(text, " \t\"\\") && text != "" {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

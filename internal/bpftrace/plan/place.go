package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/text/match"
)

// impossible refuses an attach point that ringtap cannot attach.
func (p *planner) impossible() {
	switch p.point.Provider {
	case "asyncwatchpoint":
		p.refuse("watchpoint:ADDRESS:LENGTH:MODE", "a watchpoint on a function's argument would have to be set while the function is entered")
	default:
		p.refuse("", "%s is not possible without BPF", p.point.Provider)
	}
}

// tracepoint plans tracepoint:SYSTEM:EVENT.
func (p *planner) tracepoint() *Event {
	if len(p.point.Args) != 2 {
		p.refuse("", "a tracepoint is tracepoint:SYSTEM:EVENT")
		return nil
	}
	return &Event{Place: Tracepoint, Definition: strings.Join(p.point.Args, ":")}
}

// Iterator is the prefix of the kernel function that a tracepoint calls to run each of its handlers
// (DEFINE_TRACE_FN in include/linux/tracepoint.h). Its first parameter is not the tracepoint's. The
// tracepoint's arguments follow.
const Iterator = "__traceiter_"

// raw plans rawtracepoint:EVENT, whose system the host has found. The tracepoint's record does not
// contain the raw arguments. If the clause needs them, raw probes the Iterator function instead.
func (p *planner) raw(c *check.Clause) *Event {
	first := slices.IndexFunc(c.Sources, func(s *check.Source) bool { return s.Root == check.ArgRoot || s.Root == check.FieldRoot })
	event := p.tracepoint()
	if event == nil || first < 0 {
		return event
	}
	if err := p.host.RawArguments(p.point); err != nil {
		p.source = c.Sources[first]
		p.refuse("tracepoint:"+event.Definition+" records most of them: args.NAME", "the arguments of a raw tracepoint are not known here: %v", err)
		p.source = nil
		return nil
	}
	return &Event{Place: Kernel, Definition: "p:" + Iterator + p.point.Args[1], Iterates: event.Definition}
}

// rawArgument returns argN of a raw tracepoint. It has only as many bits as its type: the rest of
// the register is undefined.
func (p *planner) rawArgument(n int) (text string, t *types.Type, ok bool) {
	t = types.Uint64
	if args, err := p.host.Args(p.point); err == nil {
		if n >= len(args.Fields) {
			p.refuse("", "%s has %d arguments", p.point.Text, len(args.Fields))
			return "", nil, false
		}
		if of := args.Fields[n].Type; of.Size < t.Size && of.Size > 0 && (of.Kind == types.Int || of.Kind == types.Bool) {
			t = &types.Type{Kind: types.Int, Size: of.Size}
		}
	}
	return fmt.Sprintf("$arg%d", n+2), t, true // $arg1 is the iterator's own
}

// isReturn reports whether an attach point is at a function's return.
func isReturn(point *syntax.AttachPoint) bool {
	switch point.Provider {
	case "uretprobe", "kretprobe", "fexit":
		return true
	}
	return false
}

// kind returns the prefix of the attach point's definition.
func (p *planner) kind() string {
	if isReturn(p.point) {
		return "r:"
	}
	return "p:"
}

// kernel plans kprobe:[MODULE:]FUNCTION[+OFFSET], kretprobe, fentry and fexit.
func (p *planner) kernel() *Event {
	args := p.point.Args
	if len(args) == 0 || len(args) > 2 {
		p.refuse("", "a kernel function is %s:FUNCTION or %[1]s:MODULE:FUNCTION", p.point.Provider)
		return nil
	}
	if module, err := match.ParseGlob(args[0]); len(args) == 2 && err == nil && module.Match("vmlinux") {
		args = args[1:] // vmlinux is not a module
	}
	return &Event{Place: Kernel, Definition: p.kind() + strings.Join(args, ":")}
}

// user plans uprobe:TARGET:FUNCTION[+OFFSET], TARGET:cpp:FUNCTION, TARGET:0xOFFSET, or
// TARGET@FILE:LINE.
func (p *planner) user() *Event {
	args := p.point.Args
	switch {
	case len(args) >= 4 && args[1] == "@":
		// The column is ignored: all statements of the line are probed.
		args = []string{args[0], args[2] + ":" + args[3]}
	case len(args) == 3 && args[1] == "cpp":
		args = []string{args[0], args[2]}
	}
	if len(args) != 2 {
		p.refuse("", "a user function is %s:PROGRAM:FUNCTION", p.point.Provider)
		return nil
	}
	return &Event{Place: User, Definition: p.kind() + word(args[0]) + ":" + symbol(args[1])}
}

// mark plans usdt:TARGET:[PROVIDER:]NAME.
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

// symbol escapes the spaces in a name. The name may be a pattern and may end in an offset.
func symbol(text string) string {
	if strings.ContainsAny(text, "\t\"\\") {
		return word(text)
	}
	return strings.ReplaceAll(text, " ", `\ `)
}

// word quotes a part of a definition that would otherwise end too early. It does not quote without
// need, because a quoted pattern is taken as a plain name.
func word(text string) string {
	if !strings.ContainsAny(text, " \t\"\\") && text != "" {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

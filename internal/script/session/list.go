package session

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/btf"
	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/names"
	"github.com/ringtap/ringtap/internal/script/live"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/types"
	"github.com/ringtap/ringtap/perfevent"
)

// Lister lists attach points, as bpftrace -l does.
type Lister struct {
	Out    io.Writer
	Fields bool // with the fields of tracepoints and the parameters of functions
	PIDs   []int
	Log    io.Writer // for warnings; nil discards them
}

// List writes the attach points that patterns match, with commas between them, one a line: all
// tracepoints and events if there is no pattern, and what can be probed in the target process.
// struct NAME is the kernel's type of that name, and a file is a program, whose attach points are
// the patterns.
func (l Lister) List(patterns string) error {
	out := bufio.NewWriter(l.Out)
	l.Out = out
	var errs []error
	if patterns == "" && len(l.PIDs) > 0 {
		patterns = "uprobe:*,usdt:*"
	}
	if text, err := readBounded(patterns, maxImport); err == nil {
		if patterns, err = pointsOf(patterns, string(text)); err != nil {
			return err
		}
	} else if strings.HasSuffix(patterns, ".bt") && l.Log != nil {
		fmt.Fprintf(l.Log, "WARNING: It appears that '%s' is a filename but the file does not exist. Treating '%s' as a search pattern.\n", escape.Text(patterns), escape.Text(patterns))
	}
	for _, pattern := range splitQuoted(patterns, ',') {
		errs = append(errs, l.list(strings.TrimSpace(pattern)))
	}
	return errors.Join(append(errs, out.Flush())...)
}

// ListProgram writes the attach points that those of a program match.
func (l Lister) ListProgram(text string) error {
	patterns, err := pointsOf("", text)
	if err != nil {
		return err
	}
	return l.List(patterns)
}

// pointsOf returns the attach points of a program as patterns.
func pointsOf(file, text string) (patterns string, err error) {
	parsed, err := syntax.Parse(file, text, syntax.Options{})
	if err != nil {
		return "", err
	}
	var points []string
	for _, probe := range parsed.Probes {
		for _, p := range probe.Points {
			switch p.Provider {
			case "interval", "profile", "software", "hardware": // without the period
				points = append(points, p.Provider+":"+p.Args[0]+":")
			case "uprobe", "uretprobe":
				name := p.Args[len(p.Args)-1]
				points = append(points, strings.TrimSuffix(p.Text, name)+`"`+escapeQuotes(name)+`"`)
			default:
				points = append(points, p.Text)
			}
		}
	}
	return strings.Join(points, ","), nil
}

// splitQuoted cuts a text where it has a character that is not in quotes.
func splitQuoted(text string, at byte) []string {
	var parts []string
	start, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == at && !quoted:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

// unquote is a word of an attach point without its quotes, and escapeQuotes makes it fit to be in them.
func unquote(word string) string {
	inside, opens := strings.CutPrefix(word, `"`)
	inside, closes := strings.CutSuffix(inside, `"`)
	if !opens || !closes {
		return word
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(inside)
}

func escapeQuotes(word string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) }

// list writes what one pattern matches.
func (l Lister) list(pattern string) error {
	if name, ok := strings.CutPrefix(pattern, "struct "); ok {
		return l.structure(name)
	}
	provider, rest, named := strings.Cut(pattern, ":")
	provider = fullName(provider)
	if named {
		pattern = provider + ":" + rest
		switch {
		case provider == "uprobe" || provider == "uretprobe" || provider == "usdt":
			return l.files(provider, rest)
		case provider == "kprobe" || provider == "kretprobe" || provider == "fentry" || provider == "fexit":
			return l.functions(provider, rest, func(string) bool { return true })
		case strings.Contains(rest, "/") && isPattern(provider):
			return errors.Join(l.files("uprobe", rest), l.files("uretprobe", rest), l.files("usdt", rest))
		}
	}
	glob, err := names.ParseGlob(cmp.Or(pattern, "*"))
	if err != nil {
		return fmt.Errorf("pattern %q: %w", pattern, err)
	}
	for _, name := range events() {
		if !glob.Match(name) {
			continue
		}
		fmt.Fprintln(l.Out, name)
		if list, ok := strings.CutPrefix(name, "iter:"); ok && l.Fields {
			listContext(l.Out, list)
		}
	}
	if !named || isPattern(provider) {
		for _, kind := range []string{"fentry", "kprobe"} {
			_ = l.functions(kind, "*", glob.Match) // a kernel that has none, or shows none, has the rest
		}
	}
	return errors.Join(l.rawTracepoints(glob), l.tracepoints(glob))
}

// rawTracepoints writes the raw tracepoints that a pattern matches, with what BTF tells of their
// arguments.
func (l Lister) rawTracepoints(glob names.Glob) error {
	all, err := rawEvents()
	if err != nil {
		return err
	}
	var found []string
	for _, e := range all {
		if glob.Match("rawtracepoint:"+e.Name) || glob.Match("rawtracepoint:vmlinux:"+e.Name) {
			found = append(found, e.Name)
		}
	}
	slices.Sort(found)
	kernel := &kernelTypes{}
	for _, name := range slices.Compact(found) {
		fmt.Fprintln(l.Out, "rawtracepoint:"+name)
		if !l.Fields || kernel.open() == nil {
			continue
		}
		for t := range kernel.spec.Find(btf.Func, "__traceiter_"+name) { // include/linux/tracepoint.h
			proto := t.Target()
			for i := 1; i < proto.Len(); i++ { // the first is the probe's own
				fmt.Fprintf(l.Out, "    %s\n", proto.Param(i).Type.Declare(proto.Param(i).Name))
			}
			break
		}
	}
	return nil
}

// tracepoints writes the tracepoints that a pattern matches.
func (l Lister) tracepoints(glob names.Glob) error {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	all, err := tracefs.Events()
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b ftrace.EventName) int {
		return cmp.Compare(a.String(), b.String())
	})
	for _, event := range all {
		name := "tracepoint:" + event.String()
		if !glob.Match(name) {
			continue
		}
		fmt.Fprintln(l.Out, name)
		if l.Fields {
			listFields(l.Out, tracefs, event)
		}
	}
	return nil
}

// fullName returns the full name of a provider of attach points that can be listed.
func fullName(provider string) string {
	switch provider {
	case "t":
		return "tracepoint"
	case "s":
		return "software"
	case "h":
		return "hardware"
	case "u":
		return "uprobe"
	case "ur":
		return "uretprobe"
	case "U":
		return "usdt"
	case "k":
		return "kprobe"
	case "it":
		return "iter"
	case "kr":
		return "kretprobe"
	case "f", "kfunc":
		return "fentry"
	case "fr", "kretfunc":
		return "fexit"
	}
	return provider
}

// events returns the attach points of events that perf counts, with bpftrace's other names for them,
// and of time.
func events() []string {
	var list []string
	for _, e := range perfevent.HardwareEvents() {
		list = append(list, "hardware:"+e.String()+":")
		if other := plan.OtherName(e.String()); other != "" {
			list = append(list, "hardware:"+other+":")
		}
	}
	for _, e := range perfevent.SoftwareEvents() {
		list = append(list, "software:"+e.String()+":")
		if other := plan.OtherName(e.String()); other != "" {
			list = append(list, "software:"+other+":")
		}
	}
	for _, provider := range []string{"interval", "profile"} {
		for _, unit := range []string{"hz", "ms", "s", "us"} {
			list = append(list, provider+":"+unit+":")
		}
	}
	for _, name := range live.Iterators() {
		list = append(list, "iter:"+name)
	}
	return list
}

// listContext writes the members of ctx of an iterator as the kernel declares them.
func listContext(w io.Writer, list string) {
	ctx, err := (&live.Arguments{}).Args(&syntax.AttachPoint{Provider: "iter", Args: []string{list}})
	if err != nil {
		return // it is none of Iterators
	}
	for _, f := range ctx.Fields {
		declared := "int"
		if f.Type.Kind == types.Pointer {
			declared = f.Type.Elem.Name + " *"
		}
		fmt.Fprintf(w, "    %s %s\n", declared, f.Name)
	}
}

// listFields writes the fields of a tracepoint as the kernel declares them.
func listFields(w io.Writer, tracefs *ftrace.FS, event ftrace.EventName) {
	text, err := tracefs.FormatText(event.System, event.Name)
	if err != nil {
		return // it went away since it was listed
	}
	for line := range strings.Lines(string(text)) {
		_, declaration, ok := strings.Cut(line, "field:")
		declaration, _, ends := strings.Cut(declaration, ";")
		if ok && ends && !strings.Contains(declaration, " common_") {
			fmt.Fprintf(w, "    %s\n", declaration)
		}
	}
}

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
	"github.com/ringtap/ringtap/internal/bpftrace/live"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/host/btf"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/perfevent"
)

// Lister lists attach points, like bpftrace -l.
type Lister struct {
	Out    io.Writer
	Fields bool // also print fields of tracepoints and parameters of functions
	PIDs   []int
	Log    io.Writer // for warnings; nil discards them
}

// List prints the attach points that match patterns, a comma-separated list, one per line. Without
// patterns it prints all tracepoints and events, or what can be probed in the target process. The
// pattern "struct NAME" prints that kernel type. If patterns is the name of a file, it is a program
// whose attach points are the patterns.
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

// ListProgram prints what the attach points of a program match.
func (l Lister) ListProgram(text string) error {
	patterns, err := pointsOf("", text)
	if err != nil {
		return err
	}
	return l.List(patterns)
}

// pointsOf returns the attach points of a program as a list of patterns.
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

// splitQuoted splits text at each sep outside of quotes. All parts but the first start with sep.
func splitQuoted(text string, sep byte) []string {
	var parts []string
	start, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == sep && !quoted:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

// unquote returns a word of an attach point without its quotes.
func unquote(word string) string {
	inside, opens := strings.CutPrefix(word, `"`)
	inside, closes := strings.CutSuffix(inside, `"`)
	if !opens || !closes {
		return word
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(inside)
}

func escapeQuotes(word string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) }

// list prints what one pattern matches.
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
	glob, err := match.ParseGlob(cmp.Or(pattern, "*"))
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
			_ = l.functions(kind, "*", glob.Match) // a kernel that lists no functions may still list the rest
		}
	}
	return errors.Join(l.rawTracepoints(glob), l.tracepoints(glob))
}

// rawTracepoints prints the raw tracepoints that match, with their arguments if BTF describes them.
func (l Lister) rawTracepoints(glob match.Glob) error {
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
			for i := 1; i < proto.Len(); i++ { // the first is the iterator's own
				fmt.Fprintf(l.Out, "    %s\n", proto.Param(i).Type.Declare(proto.Param(i).Name))
			}
			break
		}
	}
	return nil
}

// tracepoints prints the tracepoints that match.
func (l Lister) tracepoints(glob match.Glob) error {
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

// fullName returns the full name of a provider.
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

// events returns the attach points of perf's events, including bpftrace's other names for them, and
// those of timers and iterators.
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

// listContext prints the members of an iterator's ctx, as the kernel declares them.
func listContext(w io.Writer, list string) {
	ctx, err := (&live.Arguments{}).Args(&syntax.AttachPoint{Provider: "iter", Args: []string{list}})
	if err != nil {
		return // not one of Iterators
	}
	for _, f := range ctx.Fields {
		declared := "int"
		if f.Type.Kind == types.Pointer {
			declared = f.Type.Elem.Name + " *"
		}
		fmt.Fprintf(w, "    %s %s\n", declared, f.Name)
	}
}

// listFields prints the fields of a tracepoint, as the kernel declares them.
func listFields(w io.Writer, tracefs *ftrace.FS, event ftrace.EventName) {
	text, err := tracefs.FormatText(event.System, event.Name)
	if err != nil {
		return // it has disappeared since it was listed
	}
	for line := range strings.Lines(string(text)) {
		_, declaration, ok := strings.Cut(line, "field:")
		declaration, _, ends := strings.Cut(declaration, ";")
		if ok && ends && !strings.Contains(declaration, " common_") {
			fmt.Fprintf(w, "    %s\n", declaration)
		}
	}
}

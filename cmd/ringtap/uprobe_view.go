package main

import (
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/visible"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe"
)

// sayPlaces says where the probes are, and why there.
func sayPlaces(out *console, plan *uprobe.Plan) {
	for i := range plan.Sites {
		site := &plan.Sites[i]
		fmt.Fprintf(out.stderr, "%s: %s, file offset %#x", visible.Text(site.Event), visible.Text(plan.Path), site.Offset)
		if site.Moved > 0 {
			fmt.Fprintf(out.stderr, ", %d bytes behind the function's start", site.Moved)
		}
		if site.Why != "" {
			fmt.Fprintf(out.stderr, ": %s", visible.Text(site.Why))
		}
		fmt.Fprintln(out.stderr)
	}
}

// viewFormats prints the kernel's format files.
func viewFormats(out *console, formats []*ftrace.Format) error {
	fs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	for _, format := range formats {
		text, err := fs.FormatText(format.System, format.Name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out.stdout, "%s", text); err != nil {
			return ignoreClosedPipe(err)
		}
	}
	return nil
}

// listFunctions prints what can be probed, one name a line.
func (u *uprobeFlags) listFunctions(out *console, rest []string) error {
	if u.list == "" {
		return usagef("-l names no target")
	}
	pattern := ""
	switch len(rest) {
	case 0:
	case 1:
		pattern = rest[0]
	default:
		return usagef("unexpected argument %q: -l takes a target and a pattern", rest[1])
	}
	matches, err := matcher(pattern)
	if err != nil {
		return err
	}
	functions, _, err := uprobe.Functions(u.list, u.options(out))
	if err != nil {
		return err
	}
	var names []string
	for _, f := range functions {
		name := f.Name
		if u.demangle {
			name = symbols.DemangleParams(name)
		}
		if (f.Kind == symbols.Defined || f.Kind == symbols.Indirect) && matches(name) {
			names = append(names, visible.Text(name))
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if _, err = fmt.Fprintln(out.stdout, name); err != nil {
			break
		}
	}
	return ignoreClosedPipe(err)
}

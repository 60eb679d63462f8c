package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/internal/visible"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe"
)

// listFunctions prints what can be probed, one name a line.
func (u *uprobeFlags) listFunctions(out *console, rest []string) error {
	if u.list == "" {
		return usagef("-l needs a target")
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
	functions, _, err := uprobe.Functions(u.list, uprobe.Options{PID: cmp.Or(u.pid, u.tid), Logger: out.logger(u.verbose)})
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

package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe"
)

// listFunctions prints what can be probed, one a line: the functions' names, and the
// definitions of USDT probes with the types of their arguments.
func (u *uprobeFlags) listFunctions(out *console, rest []string) error {
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
	options := uprobe.Options{PID: cmp.Or(append(u.Roots, u.TID)...), Logger: out.logger(u.verbose)}
	functions, path, err := uprobe.Functions(u.list, options)
	if err != nil {
		return err
	}
	marks, err := uprobe.Marks(u.list, options)
	if err != nil {
		fmt.Fprintln(out.stderr, "note:", err)
	}
	var names []string
	for _, f := range functions {
		name := f.Name
		if u.demangle {
			name = symbols.DemangleParams(name)
		}
		if (f.Kind == symbols.Defined || f.Kind == symbols.Indirect) && matches(name) {
			names = append(names, escape.Text(name))
		}
	}
	slices.Sort(names)
	for _, m := range marks {
		if matches(m.Provider + ":" + m.Name) {
			names = append(names, escape.Text("u:"+u.list+":"+m.String()))
		}
	}
	switch {
	case len(names) == 0 && pattern != "":
		return fmt.Errorf("no function and no USDT probe of %s matches %q", escape.Text(path), pattern)
	case len(names) == 0:
		return fmt.Errorf("%s has no symbols (it is stripped): only addresses of it can be probed, p:%s:0xOFFSET", escape.Text(path), u.list)
	}
	for _, name := range slices.Compact(names) {
		if _, err = fmt.Fprintln(out.stdout, name); err != nil {
			break
		}
	}
	return ignoreClosedPipe(err)
}

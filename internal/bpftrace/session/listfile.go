package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/host/btf"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe"
)

// files prints the functions or the USDT probes of files. spec is FILE:NAME, and both parts may be
// patterns. FILE:cpp:NAME prints C++ names as in the source.
func (l Lister) files(kind, spec string) error {
	words := splitQuoted(spec, ':')
	for i, word := range words {
		words[i] = unquote(word)
	}
	file, words := words[0], words[1:]
	cpp := kind != "usdt" && len(words) > 1 && words[0] == "cpp"
	if cpp {
		words = words[1:]
	}
	pattern := cmp.Or(strings.Join(words, ":"), "*")
	wanted, err := wantedNames(kind, pattern)
	if err != nil {
		return fmt.Errorf("pattern %q: %w", pattern, err)
	}
	files := []string{file}
	if several := file == "" || isPattern(file); several {
		if files, err = targetFiles(file, l.PIDs); err != nil {
			return err
		}
	}
	options := uprobe.Options{}
	if len(l.PIDs) > 0 {
		options.PID = l.PIDs[0]
	}
	for _, f := range files {
		if kind == "usdt" {
			err = l.marks(f, wanted, options)
		} else {
			err = l.userFunctions(kind, f, cpp, wanted, options)
		}
		if err != nil && len(files) == 1 {
			return err
		}
	}
	return nil
}

// wantedNames returns a function that reports whether a name matches pattern. For functions, a
// pattern also matches C++ and Rust names.
func wantedNames(kind, pattern string) (func(string) bool, error) {
	if kind != "usdt" {
		return symbols.Meant(pattern)
	}
	glob, err := match.ParseGlob(pattern)
	return glob.Match, err
}

// marks prints the USDT probes of a file that are wanted.
func (l Lister) marks(file string, wanted func(string) bool, o uprobe.Options) error {
	found, err := namesIn(file, true, o)
	for _, name := range found {
		if wanted(name) {
			l.point("usdt", file, name)
		}
	}
	return err
}

// point prints an attach point in a file.
func (l Lister) point(kind, file, name string) {
	fmt.Fprintf(l.Out, "%s:%s:%s\n", kind, escape.Text(file), escape.Text(name))
}

// userFunctions prints the functions of a file that are wanted. If cpp is set, it prints
// FILE:cpp:NAME with the names as in the source.
func (l Lister) userFunctions(kind, file string, cpp bool, wanted func(string) bool, o uprobe.Options) error {
	all, err := functionsIn(file, o)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(f symbols.Function) bool { return !wanted(f.Name) })
	params := make([][]symbols.Param, len(all))
	if l.Fields {
		if params, err = uprobe.AllParams(file, o, all); err != nil {
			return err
		}
	}
	for i, f := range all {
		switch name := symbols.DemangleWhole(f.Name); {
		case cpp && name != f.Name:
			l.point(kind, file, `cpp:"`+name+`"`)
		case cpp:
			l.point(kind, file, "cpp:"+name)
		default:
			l.point(kind, file, f.Name)
		}
		for _, p := range params[i] {
			if p.Type != "" {
				fmt.Fprintf(l.Out, "    %s\n", escape.Text(declared(p.Type, p.Name)))
			}
		}
	}
	return nil
}

// declared returns a parameter as bpftrace prints it, such as const char* name.
func declared(typ, name string) string {
	base := strings.TrimRight(typ, " *")
	stars := strings.ReplaceAll(typ[len(base):], " ", "")
	return strings.TrimSpace(base + stars + " " + name)
}

// namesIn returns the names of a file's functions without duplicates. If marks is set, it returns
// those of its USDT probes, as PROVIDER:NAME.
func namesIn(file string, marks bool, o uprobe.Options) (found []string, err error) {
	if marks {
		all, err := uprobe.Marks(file, o)
		for _, m := range all {
			found = append(found, m.Provider+":"+m.Name)
		}
		slices.Sort(found)
		return slices.Compact(found), err
	}
	functions, err := functionsIn(file, o)
	for _, f := range functions {
		found = append(found, f.Name)
	}
	return found, err
}

// functionsIn returns the functions of a file, sorted by name, without duplicate names.
func functionsIn(file string, o uprobe.Options) ([]symbols.Function, error) {
	all, _, err := uprobe.Functions(file, o)
	all = slices.DeleteFunc(slices.Clone(all), func(f symbols.Function) bool {
		return f.Kind != symbols.Defined && f.Kind != symbols.Indirect
	})
	slices.SortStableFunc(all, func(a, b symbols.Function) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b symbols.Function) bool { return a.Name == b.Name }), err
}

// functions prints the attach points at kernel functions that match a pattern, can be probed, and
// are wanted. For fentry and fexit, it prints only functions whose types are known.
func (l Lister) functions(kind, pattern string, wanted func(point string) bool) error {
	if module, name, ok := strings.Cut(pattern, ":"); ok {
		if glob, err := match.ParseGlob(module); err == nil && glob.Match("vmlinux") {
			pattern = name
		}
	}
	found, _, err := probe.KernelFunctions(pattern)
	if err != nil {
		return err
	}
	typed := kind == "fentry" || kind == "fexit"
	var known map[string]btf.Type
	if typed || l.Fields {
		known = typedFunctions()
	}
	for _, name := range slices.Compact(found) {
		module, function, ok := strings.Cut(name, ":")
		if !ok {
			module, function = "vmlinux", name
		}
		t, ok := known[function]
		if typed {
			if name = module + ":" + function; !ok {
				continue
			}
		}
		if !wanted(kind + ":" + name) {
			continue
		}
		fmt.Fprintf(l.Out, "%s:%s\n", kind, name)
		if !ok || !l.Fields {
			continue
		}
		for i := range t.Target().Len() {
			param := t.Target().Param(i)
			fmt.Fprintf(l.Out, "    %s\n", param.Type.Declare(param.Name))
		}
		if kind == "fexit" {
			fmt.Fprintf(l.Out, "    %s\n", t.Target().Target().Declare("retval"))
		}
	}
	return nil
}

// typedFunctions returns the functions that the kernel's type information describes.
func typedFunctions() map[string]btf.Type {
	kernel := &kernelTypes{}
	if kernel.open() == nil {
		return nil
	}
	known := map[string]btf.Type{}
	for t := range kernel.spec.Types() {
		if t.Kind() == btf.Func {
			known[t.Name()] = t
		}
	}
	return known
}

// structure prints a kernel struct as C declares it.
func (l Lister) structure(name string) error {
	kernel := &kernelTypes{}
	if kernel.open() == nil {
		return btf.ErrNone
	}
	for t := range kernel.spec.Find(btf.Struct, name) {
		fmt.Fprintf(l.Out, "struct %s {\n", t.Name())
		for i := range t.Len() {
			m := t.Member(i)
			fmt.Fprintf(l.Out, "\t%s;\n", m.Type.Declare(m.Name))
		}
		fmt.Fprintln(l.Out, "};")
		return nil
	}
	return fmt.Errorf("the kernel's types have no struct %s", name)
}

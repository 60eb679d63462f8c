package kprobe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/arch"
)

// probeable returns an error if the kernel would reject a probe of a function. With
// Options.Force it returns nil.
func (r *resolver) probeable(f *Function) error {
	if r.options.Force {
		return nil
	}
	why := r.unprobeable(f)
	if why == "" {
		return nil
	}
	e := &BlacklistedError{Name: f.String(), Why: why}
	if tells := Instead(f.Name); len(tells) > 0 {
		e.Instead = tells[0]
	}
	return e
}

// unprobeable returns the reason why a function cannot be probed, or "" if none is known. The
// kernel rejects functions that the function tracer must not touch
// (kernel/trace/trace_kprobe.c), and those on its own blacklist (kernel/kprobes.c).
func (r *resolver) unprobeable(f *Function) string {
	for _, u := range unprobed {
		if r.lookup.table.sections[u.name].has(f.Address) {
			return u.why
		}
	}
	for _, s := range r.refused {
		if s.has(f.Address) {
			return "it is on the kernel's blacklist (debugfs's kprobes/blacklist), mostly because handling a probe would reach it again"
		}
	}
	if r.lookup.traced != nil && !f.Traceable {
		return "the kernel does not allow tracing it (notrace): it is not in available_filter_functions"
	}
	return ""
}

// explain adds notes about a function that may surprise the user.
func (r *resolver) explain(f *Function) {
	has := func(name string) bool { return r.lookup.others[name] && r.lookup.foundName(name) }
	for _, text := range []string{bypassNote(f.Name, has), busyNote(f)} {
		if text != "" {
			r.note("%s", text)
		}
	}
	if clones := r.lookup.clones(f); len(clones) > 0 {
		r.note("some calls bypass %s and go to the compiler's clones of it: probe %s to see those too", f.Name, strings.Join(clones, ", "))
	}
	if r.usesArguments() {
		switch {
		case strings.Contains(f.Name, ".isra.") || strings.Contains(f.Name, ".constprop."):
			r.note("%s is the compiler's clone of %s: some of its arguments may be missing or elsewhere", f.Name, baseName(f.Name))
		case isWrapper(f.Name):
			r.note("the arguments of a system call are in memory, where the first argument of %s points to: %s", f.Name, systemCallArgs(arch.Named(r.arch)))
		}
	}
	if r.definition.Kind == Return && strings.Contains(f.Name, ".part.") {
		r.note("%s is a part of %s that the compiler split off: calls that end before it do not show", f.Name, baseName(f.Name))
	}
}

// usesArguments reports whether the definition fetches the caller's arguments.
func (r *resolver) usesArguments() bool {
	if r.definition.Kind == Return {
		return false
	}
	for i := range r.definition.Args {
		if a := &r.definition.Args[i]; a.Path != "" || strings.ContainsAny(a.Fetch.Fetch, "%") || strings.Contains(a.Fetch.Fetch, "$arg") {
			return true
		}
	}
	return false
}

// isWrapper reports whether a function gets a system call's arguments in a struct pt_regs
// (CONFIG_ARCH_HAS_SYSCALL_WRAPPER).
func isWrapper(name string) bool {
	return strings.HasPrefix(name, "__x64_sys_") || strings.HasPrefix(name, "__arm64_sys_") || strings.HasPrefix(name, "__ia32_sys_")
}

// systemCallArgs returns the fetch arguments for a system call's parameters on machine m. They
// are in a struct pt_regs that the first argument points to.
func systemCallArgs(m *arch.Machine) string {
	var list []string
	for _, r := range m.Syscall {
		list = append(list, fmt.Sprintf("+%#x($arg1)", r.Offset))
	}
	return strings.Join(list, ", ")
}

// clones returns the compiler's clones of a function that exists itself, too. Callers in the
// same file call f.part.0 if the start of f was inlined into them, and f.constprop.0 if they
// pass constants.
func (l *lookup) clones(f *Function) []string {
	var names []string
	for i := range l.table.found {
		s := &l.table.found[i]
		if isFunction(s.kind) && s.Module == f.Module && strings.HasPrefix(s.Name, f.Name+".") && !isCold(s.Name) && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

func (l *lookup) foundName(name string) bool {
	for i := range l.table.found {
		if s := &l.table.found[i]; s.Name == name && isFunction(s.kind) {
			return true
		}
	}
	return false
}

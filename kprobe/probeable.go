package kprobe

import (
	"fmt"
	"slices"
	"strings"
)

// probeable explains why the kernel would refuse a probe of a function; with
// Options.Force it is asked nevertheless.
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

// unprobeable says why a function can't be probed, "" if nothing is known against
// it. The kernel refuses functions that the function tracer must not touch
// (kernel/trace/trace_kprobe.c), and a list of its own (kernel/kprobes.c).
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

// explain notes what may surprise about a function.
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
			r.note("the arguments of a system call are in memory, where the first argument of %s points to: %s", f.Name, systemCallArgs(r.arch))
		}
	}
	if r.definition.Kind == Return && strings.Contains(f.Name, ".part.") {
		r.note("%s is a part of %s that the compiler split off: calls that end before it do not show", f.Name, baseName(f.Name))
	}
}

// usesArguments tells whether the definition fetches what the caller passed.
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

// isWrapper tells whether a function takes a system call's arguments from the
// registers that the program had (CONFIG_ARCH_HAS_SYSCALL_WRAPPER).
func isWrapper(name string) bool {
	return strings.HasPrefix(name, "__x64_sys_") || strings.HasPrefix(name, "__arm64_sys_") || strings.HasPrefix(name, "__ia32_sys_")
}

// systemCallArgs says how to fetch a system call's arguments: struct pt_regs of
// arch/x86/include/asm/ptrace.h and arch/arm64/include/asm/ptrace.h.
func systemCallArgs(arch string) string {
	offsets := []int{0x70, 0x68, 0x60, 0x38, 0x48, 0x40} // di, si, dx, r10, r8, r9
	if arch == "arm64" {
		offsets = []int{0, 8, 16, 24, 32, 40} // x0 to x5
	}
	var list []string
	for _, offset := range offsets {
		list = append(list, fmt.Sprintf("+%#x($arg1)", offset))
	}
	return strings.Join(list, ", ")
}

// clones are functions that the compiler made of one that is there as well: its
// callers in the same file call f.part.0 where the beginning of f was put into them,
// f.constprop.0 where they pass constants.
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

// foundName tells whether the kernel has a function of a name that was kept.
func (l *lookup) foundName(name string) bool {
	for i := range l.table.found {
		if s := &l.table.found[i]; s.Name == name && isFunction(s.kind) {
			return true
		}
	}
	return false
}

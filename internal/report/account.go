package report

import (
	"path"
	"slices"
	"strings"
)

// innermost is the level at the leaf that is code.
func innermost(levels []level) level {
	n := len(levels) - 1
	for n > 0 && levels[n].kind == label {
		n--
	}
	return levels[n]
}

// running returns the function that a sample of running code counts for: the innermost
// one, or the interpreted function whose code the interpreter runs.
func (l *leveler) running(levels []level) level {
	leaf := innermost(levels)
	if l.interprets(leaf) {
		if n := l.interpreted(levels); n >= 0 {
			return levels[n]
		}
	}
	return leaf
}

// interpreters are the beginnings of the names of files that hold an interpreter's code.
var interpreters = []string{"python", "libpython", "perl", "libperl", "ruby", "libruby", "php", "libphp"}

// interprets reports whether v is a function of an interpreter.
func (l *leveler) interprets(v level) bool {
	if v.object < 0 || v.kind == kernel || l.p.Objects[v.object].Runtime != "" {
		return false
	}
	file := path.Base(l.p.Objects[v.object].Path)
	return slices.ContainsFunc(interpreters, func(prefix string) bool { return strings.HasPrefix(file, prefix) })
}

// interpreted returns the index of the innermost level that is an interpreted function, or
// -1 if there is none.
func (l *leveler) interpreted(levels []level) int {
	for i, v := range slices.Backward(levels) {
		if v.object >= 0 && v.kind == user && l.p.Objects[v.object].Runtime != "" {
			return i
		}
	}
	return -1
}

// account is the function that a wait, a call or an allocation is put down to: the
// innermost one that a person would change. What the collector has sampled is a part of
// the kernel or a library's function, the same in every stack; its caller tells.
func (l *leveler) account(levels []level) level {
	if i := slices.IndexFunc(levels, func(v level) bool { return v.kind == label }); i > 0 {
		levels = levels[:i] // what follows is of a waker
	}
	first := 1 // behind the command
	if len(levels) > first && levels[first].kind == cut {
		first++
	}
	program := first
	for program < len(levels) && levels[program].kind != kernel {
		program++
	}
	own := levels[first:program]
	if n := l.interpreted(own); n >= 0 && !slices.ContainsFunc(own[n+1:], l.isExtension) {
		return own[n]
	}
	if own, ok := skip(own, l.ofLibrary); ok {
		return own
	}
	if own, ok := skip(levels[program:], ofScheduler); ok {
		return own
	}
	return innermost(levels)
}

// skip returns the innermost level that is not part of a mechanism; where all are, the
// innermost one.
func skip(levels []level, mechanism func(level) bool) (level, bool) {
	for _, v := range slices.Backward(levels) {
		if !mechanism(v) {
			return v, true
		}
	}
	if len(levels) == 0 {
		return level{}, false
	}
	return levels[len(levels)-1], true
}

// libraries are those whose functions wait, allocate and call the system for a program,
// by the beginnings of their files' names.
var libraries = []string{
	"libc.so", "libc-2.", "libc.musl-", "ld-musl-", "ld-linux", "libpthread", "libstdc++.so", "libc++",
	"libgcc_s", "libjemalloc", "libtcmalloc", "libmimalloc", "[vdso]", "[uprobes]",
}

// runtimes are the beginnings of the names of functions that do the same in programs that
// have no such libraries.
var runtimes = []string{
	"runtime.", "internal/runtime/", "internal/poll.", "internal/syscall/", "syscall.", "os.", "io.", "bufio.",
	"golang.org/x/sys/unix.",
	"operator new", "alloc::alloc::", "__rust_alloc", "__rdl_alloc", "std::sys::",
}

// allocators are functions of static programs.
var allocators = []string{
	"malloc", "calloc", "realloc", "reallocarray", "memalign", "posix_memalign", "aligned_alloc", "strdup",
}

// ofLibrary says whether a level stands between the program and the system.
func (l *leveler) ofLibrary(v level) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(v.name, prefix) }
	if slices.Contains(allocators, v.name) || slices.ContainsFunc(runtimes, begins) {
		return true
	}
	if v.object < 0 {
		return false
	}
	file := path.Base(l.p.Objects[v.object].Path)
	return slices.ContainsFunc(libraries, func(prefix string) bool { return strings.HasPrefix(file, prefix) })
}

// isExtension reports whether v is native code that neither the interpreter nor a system
// library brings along.
func (l *leveler) isExtension(v level) bool { return !l.interprets(v) && !l.ofLibrary(v) }

// scheduling are the beginnings of the names of the kernel's functions that take a
// thread off its CPU, and of those that a tracepoint calls.
var scheduling = []string{
	"__traceiter_", "trace_event_", "perf_trace_", "__schedule", "schedule", "io_schedule", "preempt_schedule",
	"__cond_resched", "wait_for_completion", "__wait_for_common",
}

func ofScheduler(v level) bool {
	return slices.ContainsFunc(scheduling, func(prefix string) bool { return strings.HasPrefix(v.name, prefix) })
}

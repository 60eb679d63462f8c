package output

import (
	"path"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/text/match"
)

// innermost returns the innermost level that is code.
func innermost(levels []level) level {
	n := len(levels) - 1
	for n > 0 && levels[n].kind == label {
		n--
	}
	return levels[n]
}

// running returns the function that a sample of running code counts for. It is the innermost one,
// or the interpreted function that the interpreter is running.
func (l *leveler) running(levels []level) level {
	leaf := innermost(levels)
	if l.interprets(leaf) {
		if n := l.interpreted(levels); n >= 0 {
			return levels[n]
		}
	}
	return leaf
}

// interpreters are prefixes of the names of files that contain an interpreter.
var interpreters = []string{"python", "libpython", "perl", "libperl", "ruby", "libruby", "php", "libphp"}

// interprets reports whether v is a function of an interpreter.
func (l *leveler) interprets(v level) bool {
	if v.object < 0 || v.kind == kernel || l.p.Objects[v.object].Runtime != "" {
		return false
	}
	file := path.Base(l.p.Objects[v.object].Path)
	return slices.ContainsFunc(interpreters, func(prefix string) bool { return strings.HasPrefix(file, prefix) })
}

// interpreted returns the index of the innermost interpreted function, or -1.
func (l *leveler) interpreted(levels []level) int {
	for i, v := range slices.Backward(levels) {
		if v.object >= 0 && v.kind == user && l.p.Objects[v.object].Runtime != "" {
			return i
		}
	}
	return -1
}

// account returns the function that a wait, a call or an allocation counts for: the innermost one
// that a developer would change. The sampled function itself is part of the kernel or a library and
// the same in every stack, so its caller tells more.
func (l *leveler) account(levels []level) level {
	if i := slices.IndexFunc(levels, func(v level) bool { return v.kind == label }); i > 0 {
		levels = levels[:i] // the rest is the waker's stack
	}
	first := 1 // after the command
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

// skip returns the innermost level that mechanism rejects. If it rejects none, skip returns the
// innermost level.
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

// libraries are prefixes of the names of libraries, other than the C library and allocators, that
// wait, allocate and make system calls for a program.
var libraries = []string{"libstdc++.so", "libc++", "libgcc_s", "[vdso]", "[uprobes]"}

// runtimes are prefixes of the names of functions that do the same in programs without such
// libraries.
var runtimes = []string{
	"runtime.", "internal/runtime/", "internal/poll.", "internal/syscall/", "syscall.", "os.", "io.", "bufio.",
	"golang.org/x/sys/unix.",
	"operator new", "alloc::alloc::", "__rust_alloc", "__rdl_alloc", "std::sys::",
}

// allocators are such functions of static programs.
var allocators = []string{
	"malloc", "calloc", "realloc", "reallocarray", "memalign", "posix_memalign", "aligned_alloc", "strdup",
}

// ofLibrary reports whether a level is between the program and the system.
func (l *leveler) ofLibrary(v level) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(v.name, prefix) }
	if slices.Contains(allocators, v.name) || slices.ContainsFunc(runtimes, begins) {
		return true
	}
	if v.object < 0 {
		return false
	}
	file := path.Base(l.p.Objects[v.object].Path)
	return match.IsCLibrary(file) || match.IsAllocator(file) ||
		slices.ContainsFunc(libraries, func(prefix string) bool { return strings.HasPrefix(file, prefix) })
}

// isExtension reports whether v is native code that belongs neither to the interpreter nor to a
// system library.
func (l *leveler) isExtension(v level) bool { return !l.interprets(v) && !l.ofLibrary(v) }

// scheduling are prefixes of the names of kernel functions that take a thread off its CPU, or that
// a tracepoint calls.
var scheduling = []string{
	"__traceiter_", "trace_event_", "perf_trace_", "__schedule", "schedule", "io_schedule", "preempt_schedule",
	"__cond_resched", "wait_for_completion", "__wait_for_common",
}

func ofScheduler(v level) bool {
	return slices.ContainsFunc(scheduling, func(prefix string) bool { return strings.HasPrefix(v.name, prefix) })
}

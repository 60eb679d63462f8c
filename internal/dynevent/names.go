package dynevent

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ringtap/ringtap/ftrace"
)

// Limits of the kernel's names, without the zero byte (MAX_EVENT_NAME_LEN and
// MAX_ARG_NAME_LEN in kernel/trace/trace_probe.h).
const (
	MaxEvent = 63
	MaxArg   = 31
)

// FreeEvent makes the name of an event one that is not taken, as perf probe does:
// malloc, malloc_1, malloc_2. The name that it returns is taken from then on.
func FreeEvent(name string, taken map[string]bool) string {
	free := name
	for n := 1; taken[free]; n++ {
		free = numbered(name, n, MaxEvent)
	}
	taken[free] = true
	return free
}

// FreeArg makes the name of a parameter one that no argument has yet: a Go function
// may have several that are called _.
func FreeArg(name string, taken []ftrace.FetchArg) string {
	free := name[:min(len(name), MaxArg)]
	for n := 2; slices.ContainsFunc(taken, func(a ftrace.FetchArg) bool { return a.Name == free }); n++ {
		free = numbered(name, n, MaxArg)
	}
	return free
}

// numbered is a name with a number, short enough.
func numbered(name string, n, most int) string {
	suffix := "_" + strconv.Itoa(n)
	return name[:min(len(name), most-len(suffix))] + suffix
}

// CheckArgs refuses two arguments of one name, as the kernel does.
func CheckArgs(args []ftrace.FetchArg) error {
	seen := make(map[string]bool, len(args))
	for _, a := range args {
		if seen[a.Name] {
			return fmt.Errorf("two arguments are called %s; give one another name with NAME=", a.Name)
		}
		seen[a.Name] = true
	}
	return nil
}

package ftrace

import (
	"fmt"
	"slices"
	"strconv"
)

// Limits of the kernel's names, without the zero byte (MAX_EVENT_NAME_LEN and
// MAX_ARG_NAME_LEN in kernel/trace/trace_probe.h).
const (
	MaxEventName = 63
	MaxArgName   = 31
)

// FreeEventName makes the name of an event one that is not taken, as perf probe does:
// malloc, malloc_1, malloc_2. The name that it returns is taken from then on.
func FreeEventName(name string, taken map[string]bool) string {
	free := name
	for n := 1; taken[free]; n++ {
		free = withNumber(name, n, MaxEventName)
	}
	taken[free] = true
	return free
}

// FreeArgName makes the name of a parameter one that no argument has yet: a Go function
// may have several that are called _.
func FreeArgName(name string, taken []FetchArg) string {
	free := name[:min(len(name), MaxArgName)]
	for n := 2; slices.ContainsFunc(taken, func(a FetchArg) bool { return a.Name == free }); n++ {
		free = withNumber(name, n, MaxArgName)
	}
	return free
}

// withNumber is a name with a number, short enough.
func withNumber(name string, n, most int) string {
	suffix := "_" + strconv.Itoa(n)
	return name[:min(len(name), most-len(suffix))] + suffix
}

// CheckArgNames refuses two arguments of one name, as the kernel does.
func CheckArgNames(args []FetchArg) error {
	seen := make(map[string]bool, len(args))
	for _, a := range args {
		if seen[a.Name] {
			return fmt.Errorf("two arguments are called %s; give one another name with NAME=", a.Name)
		}
		seen[a.Name] = true
	}
	return nil
}

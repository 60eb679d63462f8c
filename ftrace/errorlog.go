package ftrace

// DefinitionError says why the kernel refused the definition of an event.
type DefinitionError struct {
	Command string // the line that was written
	Pos     int    // the byte in Command that the kernel complains about; -1 if unknown
	Message string // the kernel's words, or what the errno means
	Err     error  // the errno of the write
}

func (e *DefinitionError) Error() string { return e.Message + point(e.Command, e.Pos) }

// Unwrap returns the errno of the write.
func (e *DefinitionError) Unwrap() error { return e.Err }

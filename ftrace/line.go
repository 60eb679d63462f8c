package ftrace

// AppendLine appends one line of the kernel's trace, without the newline, for a
// record of format f that p prints.
func AppendLine(dst []byte, comm []byte, tid int, cpu int, nanoseconds uint64, raw []byte, f *Format, p *Printer) []byte {
	return p.Append(dst, raw)
}

// TraceHeader returns the lines that start with '#' in the trace file, which
// name the columns.
func (t *FS) TraceHeader() (string, error) { return "", nil }

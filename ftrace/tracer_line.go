package ftrace

import "strings"

// Columns says which columns this kernel's trace has beyond those that all have.
type Columns struct {
	MigrateDisable bool // since Linux 5.16
}

// ParseColumns reads them out of TraceHeader's lines.
func ParseColumns(header string) Columns {
	return Columns{MigrateDisable: strings.Contains(header, "migrate-disable")}
}

// AppendTraceHead appends what a line of the kernel's trace begins with, up to
// and including the colon and blank behind the time, for a record of a trace
// buffer. For records of perf, whose preemption depth is another, see
// AppendHead.
func AppendTraceHead(dst []byte, comm []byte, e *Entry, columns Columns) []byte {
	dst = appendTask(dst, comm, e.PID())
	dst = append(dst, " ["...)
	dst = appendDecimal(dst, uint64(max(e.CPU, 0)), 3, '0')
	dst = append(dst, "] "...)
	var flags, count byte
	if len(e.Raw) >= 4 {
		flags, count = e.Raw[2], e.Raw[3]
	}
	dst = append(dst, irqState(flags), reschedState(flags), contextState(flags), digitOrDot(count&preemptDepth))
	if columns.MigrateDisable {
		dst = append(dst, digitOrDot(count>>migrateDisabledShift))
	}
	dst = append(dst, ' ')
	dst = appendTime(dst, e.Time)
	return append(dst, ": "...)
}

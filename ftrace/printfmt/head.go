package printfmt

import (
	"strings"

	"github.com/ringtap/ringtap/ftrace"
)

// Columns says which optional columns this kernel's trace has.
type Columns struct {
	MigrateDisable bool // since Linux 5.16
}

// ParseColumns finds the columns in the lines of ftrace.FS.TraceHeader.
func ParseColumns(header string) Columns {
	return Columns{MigrateDisable: strings.Contains(header, "migrate-disable")}
}

// AppendHead appends the start of a line of the kernel's trace, up to and including the colon
// and space after the time. The record must not be a user probe's. See AppendLine for the
// arguments.
func AppendHead(dst []byte, comm []byte, tid int, cpu int, nanoseconds uint64, raw []byte) []byte {
	return appendHead(dst, comm, tid, cpu, nanoseconds, raw, false)
}

func appendHead(dst []byte, comm []byte, tid int, cpu int, nanoseconds uint64, raw []byte, userProbe bool) []byte {
	if tid <= 0 {
		tid = (&ftrace.Entry{Raw: raw}).PID()
	}
	dst = appendTask(dst, comm, tid, cpu)
	dst = appendState(dst, raw, userProbe)
	return appendTime(dst, nanoseconds)
}

// AppendTraceHead is AppendHead for a record from a trace buffer. perf's records have a
// different preemption depth.
func AppendTraceHead(dst []byte, comm []byte, e *ftrace.Entry, columns Columns) []byte {
	dst = appendTask(dst, comm, e.PID(), e.CPU)
	var flags, count byte
	if len(e.Raw) >= 4 {
		flags, count = e.Raw[2], e.Raw[3]
	}
	dst = appendFlags(dst, flags, count)
	if !columns.MigrateDisable {
		dst = dst[:len(dst)-1] // the last flag
	}
	return appendTime(dst, e.Time)
}

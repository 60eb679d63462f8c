package printfmt

import (
	"strings"

	"github.com/ringtap/ringtap/ftrace"
)

// Columns says which columns this kernel's trace has beyond those that all have.
type Columns struct {
	MigrateDisable bool // since Linux 5.16
}

// ParseColumns reads them out of FS.TraceHeader's lines.
func ParseColumns(header string) Columns {
	return Columns{MigrateDisable: strings.Contains(header, "migrate-disable")}
}

// AppendHead appends what a line of the kernel's trace begins with, up to and
// including the colon and blank behind the time, for a record that is no user
// probe's. See AppendLine.
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

// AppendTraceHead is AppendHead for a record of a trace buffer: those of perf have
// another preemption depth.
func AppendTraceHead(dst []byte, comm []byte, e *ftrace.Entry, columns Columns) []byte {
	dst = appendTask(dst, comm, e.PID(), e.CPU)
	var flags, count byte
	if len(e.Raw) >= 4 {
		flags, count = e.Raw[2], e.Raw[3]
	}
	dst = appendFlags(dst, flags, count)
	if !columns.MigrateDisable {
		dst = dst[:len(dst)-1] // the last of them
	}
	return appendTime(dst, e.Time)
}

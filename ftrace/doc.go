// Package ftrace reads and writes the kernel's tracefs. It lists events, describes their
// records, and defines dynamic events for user and kernel probes. Package printfmt prints the
// records.
//
//	tracefs, err := ftrace.Find()
//	…
//	format, err := tracefs.Format("sched", "sched_switch")
//	…
//	for _, f := range format.Fields {
//		fmt.Println(f.Offset, f.Type, f.Name)
//	}
//
// example_test.go has a runnable example. An overview:
//
//	Find, Mount → FS ─┬─ Events, Format → ParseFormat → Field; printfmt.New, printfmt.AppendLine
//	                  ├─ ParseFetchArgs → UserArgs, KernelArgs → DefineProbes → Group
//	                  ├─ ExplainFilter
//	                  └─ NewInstance ─┬─ OpenPipe → Entry
//	                                  └─ NewSynthetic → Hists
//
// The package does not know perf rings. With an event's ID, perfevent opens it; with its
// format, printfmt prints the records that perf delivers:
//
//	"sched:sched_switch" → FS.Format → perfevent.Tracepoint(uint64(f.ID), …)
//	perfevent.Sample.Raw → printfmt.AppendLine
//
// # Where tracefs is
//
// Find looks where the kernel's documentation says (Documentation/trace/ftrace.rst): first
// /sys/kernel/tracing, then the tracing directory of debugfs, for kernels before 4.1 and for
// hosts that mount only that. Find never mounts anything; Mount does, and returns whether it
// had to.
//
// # What a record holds (format*.go, field*.go)
//
// Each event has a file that describes its records: the common fields, the event's own fields,
// and a print format. ParseFormat reads it. A Field reads its value from the bytes of a record;
// it checks bounds and does not allocate. Strings and arrays of varying length are at the end
// of the record, and the field has their position (Location). perf's own uprobe events have no
// such file; UprobeFormat returns the format that they would have.
//
// # New events (probes.go, dynamic.go, group*.go, fetch*.go, registers*.go)
//
// DefineProbes defines events for probes. A Group is the set of events that one process
// defines. Its name identifies the process, so that another ringtap can remove the events if
// the process was killed. Shared files are appended to and never truncated, and events of other
// programs are never touched. Fetch arguments use the kernel's syntax: ParseFetchArgs and
// ParseKernelArgs check it and point at errors; UserArgs and KernelArgs translate $arg1 and
// register names for the machine. If the kernel rejects a definition or a filter, the error is
// a *DefinitionError or a *FilterError with the kernel's message and the position.
//
// # Trace instances (instance*.go, tracer*.go, pages*.go, hist*.go, synthetic*.go)
//
// The kernel's function tracers and histogram triggers are not available through perf. They run
// in an Instance: a separate set of buffers, tracers, filters and triggers that no other
// program uses. A Pipe reads its buffers in binary form. Settings changes files that exist only
// in the top-level tracefs. It refuses to change settings that are in use, and restores them at
// the end. After kill -9, the next ringtap restores them.
//
// # Guarantees
//
//   - Formats and records are hostile: sizes are bounded, and a bad one is an error, never a
//     panic. Every parser has a fuzz target.
//   - An FS and a Format never change after they are made, so several goroutines may share
//     them.
//   - Nothing stays in the kernel after it is closed: events of groups, instances, settings.
//
// To get call stacks of the hits, too, see package callchain/stacks.
package ftrace

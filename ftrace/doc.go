// Package ftrace reads and writes the kernel's tracefs. It lists events, describes their
// records, and defines new events at places in programs and in the kernel. Package
// printfmt prints the records.
//
//	Find, Mount → FS ─┬─ Events, Format → ParseFormat → Field; printfmt.New, printfmt.AppendLine
//	                  ├─ ParseFetchArgs → UserArgs, KernelArgs → DefineProbes → Group
//	                  ├─ ExplainFilter
//	                  └─ NewInstance ─┬─ OpenPipe → Entry
//	                                  └─ NewSynthetic → Hists
//
// The package does not know perf rings. An event's number makes it a perf event, and
// its format turns a record that perf delivers into a line:
//
//	"sched:sched_switch" → FS.Format → perfevent.Tracepoint(uint64(f.ID), …)
//	perfevent.Sample.Raw → printfmt.AppendLine
//
// # Where tracefs is
//
// Find locates the file system the way the kernel's own documentation says
// (Documentation/trace/ftrace.rst): /sys/kernel/tracing first, debugfs's
// tracing directory for kernels before 4.1 and for hosts that mount only that.
// It never mounts anything; Mount does, and says whether it had to.
//
// # What a record holds (format*.go, field*.go)
//
// Each event has a file that describes its records: the fields that all events
// share, those of its own, and a print format. ParseFormat reads it. A Field
// reads its value from the bytes of a record, checks bounds, and does not
// allocate. Strings and arrays of varying length lie at the record's end, and
// the field says where (Location). User probes of perf's own have no file;
// UprobeFormat says what they would have.
//
// # New events (probes.go, dynamic.go, group*.go, fetch*.go, registers*.go)
//
// DefineProbes makes events of places. A Group is the events that a process makes. Its name says whose they are, so
// that those of a process that was killed are removed by whoever comes next.
// Shared files are appended to and never truncated, and nobody else's event is
// touched. What a probe fetches is written in the kernel's own language:
// ParseFetchArgs and ParseKernelArgs read it and point at what is wrong, UserArgs
// and KernelArgs translate $arg1 and the names of registers to the machine at
// hand. What the kernel refuses is a *DefinitionError or *FilterError with the
// kernel's own words and the place.
//
// # Trace instances (instance*.go, tracer*.go, pages*.go, hist*.go, synthetic*.go)
//
// What perf can't do, the kernel's function tracers and histogram triggers, is done
// in an Instance: a tracefs of our own with buffers, tracers, filters and triggers
// that nobody else sees. A Pipe reads its buffers in binary. What only the tracefs
// of the whole host has is changed by Settings, which refuse what is in use and
// put back what was there, after kill -9 by whoever comes next.
//
// # What holds
//
//   - Formats and records are hostile: bounded, an error and never a panic. Every
//     parser has a fuzz target.
//   - An FS and a Format never change once they are made; several
//     goroutines may share them.
//   - Nothing but what is open stays behind: events of groups, instances, settings.
//
// Tracers that also want call stacks of the hits: see package callchain/stacks.
package ftrace

// Package ftrace is the way to the kernel's tracefs: where it is mounted, what
// events it offers and under which number perf_event_open(2) knows them.
//
// Find locates the file system the way the kernel's own documentation says
// (Documentation/trace/ftrace.rst): /sys/kernel/tracing first, debugfs's
// tracing directory for kernels before 4.1 and for hosts that mount only that.
// It never mounts anything; Mount does, and says whether it had to.
//
// The package does not know perf rings. A tracepoint becomes a perf event by
// its number:
//
//	definition "sched:sched_switch" → FS.EventID → perfevent.Tracepoint(id, …)
package ftrace

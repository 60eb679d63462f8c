// Package functrace runs the kernel's function tracers. It shows each call of chosen kernel
// functions as a line (functrace), or with everything that they call and how long it takes
// (funcgraph). It can also show only slow calls (funcslower).
//
//	Options → tracing ─┬─ an instance of our own (ftrace.Instance)
//	                   └─ tracefs itself, to be put back (ftrace.Settings)
//	tracing → ftrace.Pipe → records in the order of time ─┬─ calls → lines of trace_pipe
//	                                                      └─ graph → lines of function_graph
//
// The function tracer runs in an instance, so that it does not disturb other tracing. The
// function_graph tracer can do so only since Linux 6.11. Its start functions, depth and threshold
// are still global in the kernel. The package saves the settings that it must change and restores
// them on every exit path (see ftrace.Settings). It refuses to run if someone else uses them.
//
// Lines have the kernel's format (kernel/trace/trace_functions.c and trace_functions_graph.c), with
// three differences:
//
//   - Names of tasks are escaped.
//   - A call without inner calls is one line whenever its end is already known.
//   - The kernel's options that only choose columns are not used.
package functrace

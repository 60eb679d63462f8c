// Package functrace runs the kernel's function tracers: each call of kernel
// functions as a line (functrace), with all that they call and how long it takes
// (funcgraph), or the calls alone that take long (funcslower).
//
//	Options → room ─┬─ an instance of our own (ftrace.Instance)
//	                └─ tracefs itself, to be put back (ftrace.Settings)
//	room → ftrace.Pipe → records in the order of time ─┬─ calls → lines of trace_pipe
//	                                                   └─ graph → lines of function_graph
//
// The function tracer runs in an instance, beside anyone else's tracing. The
// function_graph tracer can do so since Linux 6.11 only, and its start, depth and
// threshold are the kernel's one and only still; what must be changed of those is
// noted first and put back on every way out (ftrace.Settings says how). It is
// refused where someone uses them.
//
// Lines are the kernel's own (kernel/trace/trace_functions.c and
// trace_functions_graph.c), but for three things: names of tasks are escaped, a
// call without calls of its own is one line wherever its end is already known,
// and the options of the kernel that only choose columns are not touched.
package functrace

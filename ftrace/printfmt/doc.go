// Package printfmt prints the records of the kernel's events as the kernel does.
//
//	ftrace.Format → New → Printer ─┬─ Append: what the event says
//	                               └─ AppendLine: a line of trace_pipe
//
// A print format is a format string and C expressions. The kernel writes it for programs
// like this one. New compiles it once: types and arithmetic as C has
// them, the kernel's own extensions of printf, and the helpers that the
// kernel's events call. Append then prints a record without allocating. Append
// prints ? for what is not in the record, such as a kernel variable. If it cannot follow
// a print format, it prints a list of name=value, and Fallback says why.
//
// The kernel does not follow the print formats of its probes and system calls
// itself; they are printed as it prints them, since the aim is the text of
// trace_pipe, byte for byte, which the tests compare. There are three
// differences, all on purpose:
//
//   - Control characters, bytes that are no UTF-8, and characters that reorder
//     text are escaped in what comes from targets: strings and task names.
//   - %p prints the address. The kernel prints a hash with a secret of the
//     running system, unless the trace option hash-ptr is off.
//   - Lines have the task's name when the event happened, where the caller knows
//     it. The kernel looks it up when it prints, and may have forgotten it.
//
// What is neither in the record nor in tracefs comes through Options: the
// names of the kernel's functions, constants (ReadConstants) and texts
// (ftrace.FS.KernelStrings).
package printfmt

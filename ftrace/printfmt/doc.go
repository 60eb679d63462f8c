// Package printfmt prints the records of kernel events exactly as the kernel does.
//
//	printer, err := printfmt.New(format, printfmt.Options{}) // format from ftrace.FS.Format
//	…
//	line = printfmt.AppendLine(line[:0], comm, tid, cpu, nanoseconds, raw, format, printer)
//
// example_test.go has runnable examples. An overview:
//
//	ftrace.Format → New → Printer ─┬─ Append: what the event says
//	                               └─ AppendLine: a line of trace_pipe
//
// A print format is a format string and C expressions; the kernel publishes it for programs
// like this one. New compiles it once. It supports C's types and arithmetic, the kernel's
// extensions of printf, and the helpers that kernel events call. Append then prints a record
// without allocating. It prints ? for a value that is not in the record, such as a kernel
// variable. If New cannot compile a print format, Append prints a list of name=value, and
// Fallback returns the reason.
//
// For its probes and system calls, the kernel itself does not use the print formats. They are
// printed as the kernel prints them: the aim is the text of trace_pipe, byte for byte, which
// the tests compare. There are three intended differences:
//
//   - In strings and task names, which come from targets, some characters are escaped: control
//     characters, invalid UTF-8, and characters that reorder text.
//   - %p prints the address. The kernel prints a hash with a secret of the running system,
//     unless the trace option hash-ptr is off.
//   - Lines have the task's name at the time of the event, if the caller knows it. The kernel
//     looks it up when it prints, and may have forgotten it.
//
// Options has the data that is neither in the record nor in tracefs: the names of the kernel's
// functions, constants (ReadConstants) and texts (ftrace.FS.KernelStrings).
package printfmt

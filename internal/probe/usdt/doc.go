// Package usdt reads user-level statically defined tracing probes from ELF files: the marks
// that SystemTap's <sys/sdt.h> leaves in programs. It also says how the kernel can fetch their
// arguments.
//
//	.note.stapsdt ─ Read ─→ Probe ─ FetchArgs ─→ ftrace.FetchArg "arg1=%di:s32"
//	.stapsdt.base ───┘        │
//	symbol tables ───┘        └→ Location, Semaphore: where and whether
//
// A mark is one nop instruction and a note. The note has the provider and the name, the address
// of the nop, and each argument's size, sign and place in the assembler's notation for
// operands. It also has the address of a counter, the semaphore. A tracer increments it so that
// the program computes the arguments; uprobes' reference counter does that. The format is
// described at https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation.
//
// Addresses are link-time addresses. prelink(8) moves a library without changing its notes, so
// each note also has the address that .stapsdt.base had.
//
// Most operands correspond to one of the kernel's fetch arguments. A program variable
// (counter(%rip)) is at a fixed distance from the mark, and is fetched that way if the file's
// symbol tables have it. If the kernel can't compute an operand, there is an *ArgError that
// says why: an index in a register, a floating-point register, thread-local storage.
package usdt

// Package usdt reads user-level statically defined tracing probes, the marks that
// <sys/sdt.h> of SystemTap leaves in programs, from ELF files, and says how the
// kernel can fetch their arguments.
//
//	.note.stapsdt ─ Read ─→ Probe ─ FetchArgs ─→ ftrace.FetchArg "arg1=%di:s32"
//	.stapsdt.base ───┘        │
//	symbol tables ───┘        └→ Location, Semaphore: where and whether
//
// A mark is one nop instruction and a note that names it. The note tells the
// provider and the name; the address of the nop; the address of a counter, the
// semaphore, that whoever traces raises so that the program computes the
// arguments (uprobes' reference counter does that); and each argument's size,
// sign and place, written as the assembler writes operands. The form is described
// at https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation.
//
// Addresses are those at link time. prelink(8) moves a library without touching
// its notes, and so each tells as well where .stapsdt.base was.
//
// Most operands are what the kernel calls a fetch argument under another name.
// A variable of the program (counter(%rip)) is at a fixed distance from the mark
// and is fetched by that if the file's symbol tables have it. What the kernel has
// no way to compute is an *ArgError that says why: an index in a register, a
// floating-point register, thread-local storage.
package usdt

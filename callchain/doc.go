// Package callchain turns what a sample says about a thread into a chain of
// frames, and keeps each distinct chain once.
//
// The data's way:
//
//	ELF file ─ Compile ─→ Table        once per object; its rules once per function that is hit
//	sample ─ Unwinder ─→ []Frame, End  per sample: Unwind, FromCallchain or Auto
//	[]Frame ─ Interner ─→ StackID      per sample; a repeat allocates nothing
//
// A Frame is an object and an offset in it, never a bare address: chains of
// different processes that run the same code are equal. An AddressSpace, which
// the caller provides, says which object is mapped at an address.
//
// Three ways lead to a chain:
//
//   - Unwind follows the copied stack by the call frame information that
//     compilers leave in .eh_frame, .debug_frame or Go's pclntab. In amd64 code
//     that has none, and that an AddressSpace can read (Coded), a rule is
//     derived from the instructions up to the return; other code is walked by
//     the frame pointer.
//   - FromCallchain takes the kernel's walk of the frame pointers and puts in
//     the caller that such a walk skips while the leaf has no frame yet.
//   - Auto chooses between them and joins both where the copy was too short.
//
// What holds everywhere:
//
//   - Chains are leaf first. The leaf's offset is that of its pc, every
//     caller's that of its return address minus one, which lies in the call;
//     Frame.PC is what people are shown.
//     Under a signal frame the pc is that of the interrupted instruction, and
//     nothing is subtracted.
//   - Nothing that comes from a target is believed: tables are compiled with
//     bounds on memory and work, stack addresses must rise from frame to frame
//     and lie in the copy, return addresses must lie in executable memory.
//   - A Table is shared, and goes on to read its file; an Unwinder and an Interner
//     belong to one goroutine each, and own the memory they work in.
//   - A chain that does not reach the thread's outermost function says so: End
//     is Cut or Lost.
//
// What neither table nor code tells stays unknown: such code is walked by frame
// pointer, and at its first instruction, where it has no frame yet, only the
// caller can say so (Capture.Entry); otherwise the chain lacks a frame there.
// Go's runtime functions that move to another stack (morestack, systemstack,
// mcall) have no rule either. What a return probe has replaced is known to who
// saw the call (Returns), and since Linux 6.11 to the kernel's chain.
package callchain

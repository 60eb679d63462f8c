// Package callchain turns what a sample says about a thread into a chain of frames, and
// keeps each distinct chain once.
//
//	ELF file ─ Compile ─→ Table        once per object; rules once per function that is hit
//	sample ─ Unwinder ─→ []Frame, End  per sample: Unwind, FromCallchain or Auto
//	[]Frame ─ Interner ─→ StackID      per sample; a repeated chain allocates nothing
//
// A Frame is an object and an offset in it, never a bare address, so that chains of
// different processes that run the same code are equal. The caller provides an
// AddressSpace, which finds the object mapped at an address.
//
// There are three ways to a chain:
//
//   - Unwind follows the copied stack by call frame information: .eh_frame, .debug_frame or
//     Go's pclntab. For amd64 code without any, if the AddressSpace can read the code
//     (Coded), Unwind derives a rule from the instructions up to the return. It walks other
//     code by the frame pointer.
//   - FromCallchain takes the kernel's walk of the frame pointers and adds the caller that
//     such a walk skips while the leaf has not set up its frame.
//   - Auto chooses between the two, and joins them where the copy of the stack is too short.
//
// Guarantees:
//
//   - Chains are leaf first. The leaf's offset is that of its pc. A caller's offset is that
//     of its return address minus one, which lies in the call instruction; Frame.PC is the
//     address to show. The frame below a signal frame holds the interrupted instruction, so
//     nothing is subtracted from its pc.
//   - Input from a target is never trusted. Compiling tables is bounded in memory and work,
//     stack addresses must rise from frame to frame and lie in the copy, and return
//     addresses must lie in executable memory.
//   - A Table may be shared and keeps reading its file. An Unwinder and an Interner belong
//     to one goroutine each and own the memory they work in.
//   - End is Cut or Lost for a chain that does not reach the thread's outermost function.
//
// Code that neither tables nor instructions describe is walked by frame pointer. At the
// first instruction of such a function, which has no frame yet, only the caller can know it
// (Capture.Entry); otherwise the chain lacks one frame. Go's runtime functions that switch
// stacks (morestack, systemstack, mcall) have no rule either. The return address that a
// return probe replaced is known to whoever saw the call (Returns) and, since Linux 6.11,
// is in the kernel's chain.
//
// Package callchain/stacks joins this package with perfevent and symbols: start there.
package callchain

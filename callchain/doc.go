// Package callchain turns a sample of a thread's user side into a chain of frames, and keeps
// each distinct chain once.
//
//	ELF file ─ Compile ─→ Table        once per object; rules once per function that is hit
//	sample ─ Unwinder ─→ []Frame, End  per sample: Unwind, FromCallchain or Auto
//	[]Frame ─ Interner ─→ StackID      per sample; a repeated chain allocates nothing
//
// A Frame is an object and an offset in it, never a bare address. Chains of different processes
// that run the same code are therefore equal. The caller provides an AddressSpace, which finds
// the object mapped at an address.
//
// There are three ways to get a chain:
//
//   - Unwind follows the copied stack by call frame information: .eh_frame, .debug_frame or
//     Go's pclntab. For x86 code without any, Unwind derives a rule from the instructions up to
//     the return, if the AddressSpace can read code (Coded). It walks other code by the frame
//     pointer.
//   - FromCallchain takes the kernel's walk of the frame pointers. It adds the caller that such
//     a walk skips while the leaf has not set up its frame.
//   - Auto chooses between the two, and joins them if the copy of the stack is too short.
//
// Guarantees:
//
//   - Chains are leaf first. The leaf's offset is that of its pc. A caller's offset is its
//     return address minus one, which lies in the call instruction. Frame.PC is the address to
//     show. A frame that a signal interrupted has the offset of the interrupted instruction.
//   - Input from a target is never trusted. Compiling tables is bounded in memory and work.
//     Stack addresses must rise from frame to frame and lie in the copy. Return addresses must
//     lie in executable memory.
//   - A Table may be shared and keeps reading its file. An Unwinder and an Interner each belong
//     to one goroutine and own the memory they work in.
//   - End is Cut or Lost for a chain that does not reach the thread's outermost function.
//
// Code that neither tables nor instructions describe is walked by frame pointer. Such a
// function has no frame yet at its first instruction. Unless Capture.Entry says that the thread
// is there, the chain lacks one frame. On amd64 and arm64, runtime.systemstack is left by the
// frame pointer, if the other stack was copied. Chains end at runtime.mcall and
// runtime.morestack, which leave the goroutine for good. A return probe replaces a return
// address. The real one comes from Returns or, since Linux 6.11, from the kernel's chain.
//
// Package callchain/stacks joins this package with perfevent and symbols: start there.
package callchain

// Package pair matches the returns of a function with its entries.
//
//	Site.Prepare → perfevent.Session → samples → Site.Place ─┬─ entry  → Calls.Enter
//	                                                     └─ return → Calls.Leave → Ended
//	                                other records ────────────────→ Calls.Handle
//
// A thread's open calls are identified by the place of their frame: the stack pointer is the
// same at a function's entry and return, except for the return address. A return without an
// entry belongs to a call that started before the run, or to the other side of a fork(2); it is
// counted separately. Some entries never get a return (longjmp, exceptions, exit, the kernel's
// limit of 64 nested return probes); they are never matched with another call's return. If
// calls share a frame, as when a function ends with a jump to itself, they end in reverse
// order.
//
// Goroutines change threads and stacks. Their calls belong to the goroutine: its g, which
// compiled code keeps in a register. Their place is relative to the upper end of the
// goroutine's stack, and so does not change when the stack moves.
//
// After records were lost, later returns are not matched with calls that were open then:
// Counts.Broken counts these calls. A call that ended on another CPU than it started on counts
// only after the first CPU's ring has shown that it lost nothing: see Calls.Hold.
//
// Nested calls: Ended.Own counts no time twice. For a recursive function the sum of Own is the
// time spent in the outermost calls. A call that outlasts a window counts there with the time
// spent so far (Calls.Spent).
package pair

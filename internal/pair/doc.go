// Package pair matches the returns of a function with its entries.
//
//	Site.Prepare → perfevent.Session → samples → Site.Place ─┬─ entry  → Calls.Enter
//	                                                     └─ return → Calls.Leave → Ended
//	                                other records ────────────────→ Calls.Handle
//
// A thread's open calls are told apart by the place of their frame: the stack
// pointer at the entry of a function is that at its return, but for the return
// address. A return whose entry is not there is of a call that began before the
// run, or of the other side of a fork(2), and is counted apart; an entry whose
// return never comes (longjmp, exceptions, exit, the kernel's limit of 64 nested
// return probes) is never taken for another's. Calls of one frame, a function that
// ends in a jump to itself, end in the reverse order in which they began.
//
// Goroutines change threads and stacks. Their calls belong to the goroutine (its
// g, which compiled code has in a register), and the place is counted from the
// upper end of its stack, which stays when the stack moves.
//
// Where records were lost, no call that was open is taken for ended by a later
// return: Counts.Broken says how many. A call that ended on another CPU than it
// began is believed once the first CPU's ring has shown that it lost nothing: see
// Calls.Hold.
//
// Calls inside calls: no moment counts twice in Ended.Own, so that of a function
// that calls itself the sum is the time inside the outermost. A call that outlasts
// a window is in it with what it has spent there (Calls.Spent).
package pair

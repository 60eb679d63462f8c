// Package pressure waits for the kernel to say that too much time is lost for
// want of CPUs, memory or a disk: pressure stall information, of the whole
// system or of a control group (Documentation/accounting/psi.rst).
//
//	text → Parse → Trigger → Open → Monitor.Wait … → Close
//
// A Trigger is a share: so much stalled time within a window. The kernel keeps
// watch and wakes Wait at most once per window; nobody polls. What is written to
// the kernel is gone with the file that Open holds.
//
// What can be known to be wrong by the text alone is an error of Parse, what the
// machine refuses is a *Error of Open. Both say what would be accepted.
package pressure

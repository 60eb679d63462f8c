// Package pressure waits until tasks have stalled too long for lack of CPU, memory or
// I/O, by the kernel's pressure stall information (PSI) of the whole system or of a
// control group (Documentation/accounting/psi.rst).
//
//	text → Parse → Trigger → Open → Monitor.Wait … → Close
//
// A Trigger is an amount of stalled time within a window. The kernel wakes Wait at most
// once per window; nothing polls. The trigger disappears with the file that Open holds.
//
// Parse returns an error for text that is wrong on any machine, and Open a *Error for
// what this machine refuses. Both say what would be accepted.
package pressure

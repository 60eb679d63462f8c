// Package pressure waits until tasks have stalled too long for lack of CPU, memory or I/O. It uses
// the kernel's pressure stall information (PSI) for the whole system or for a control group
// (Documentation/accounting/psi.rst).
//
//	text → Parse → Trigger → Open → Monitor.Wait … → Close
//
// A Trigger is an amount of stalled time within a window. The kernel wakes Wait at most once per
// window; nothing polls. The kernel removes the trigger when the file that Open opened is closed.
//
// Parse returns an error for text that is wrong on every machine. Open returns an *Error for
// triggers that this machine refuses. Both errors say what would be accepted.
package pressure

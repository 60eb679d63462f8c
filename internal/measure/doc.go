// Package measure makes histograms of what events tell: how long calls take, and
// which values arguments and fields have.
//
//	run.Engine → samples ─┬─ entry, return → calls: pairs ─┬→ rows of histograms
//	                             └─ a field of the record ────────┘      ↓ each interval
//	                                                                  Window
//
// Which return belongs to which entry, package pair finds out.
//
// # In the kernel
//
// Triggers has the kernel pair and count (hist triggers and a synthetic event, in a
// trace instance of our own): nothing is recorded, so that nothing is lost, but
// a thread can have one call under way only. Of a function that calls itself the
// innermost calls are counted, and TriggerAccount says how many are not.
package measure

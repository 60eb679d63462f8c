// Package histtrigger makes the kernel make histograms of how long calls take. It uses hist
// triggers and a synthetic event, in a trace instance of its own. Nothing is recorded, so nothing
// is lost. But a thread can have only one call in progress. If a function calls itself, only the
// innermost call counts; Account says how many do not.
//
//	entry, return → hist triggers → synthetic event → hist trigger ─ each interval ─ Window
package histtrigger

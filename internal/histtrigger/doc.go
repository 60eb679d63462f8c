// Package histtrigger has the kernel make histograms of how long calls take: hist triggers
// and a synthetic event, in a trace instance of our own. Nothing is recorded, so that nothing
// is lost, but a thread can have one call under way only. Of a function that calls itself the
// innermost calls are counted, and Account says how many are not.
//
//	entry, return → hist triggers → synthetic event → hist trigger ─ each interval ─ Window
package histtrigger

// Package eventfilter splits an event's filter between the kernel and this program.
//
//	text → cexpr.Parser → Split → Filter ─┬─ Kernel: what the kernel can compare
//	                                      └─ Match: compares text that the kernel can't
//
// The language is the kernel's own (Documentation/trace/events.rst, section 5), plus !~. The
// kernel compares numbers, and text inside the record. But openat(2)'s file name, for example,
// is an address there. The kernel treats it as an address in its own memory, and the comparison
// silently fails. So this program compares such text, after it has been read.
//
// The kernel's part passes every record that the whole filter passes. So the kernel drops
// nothing that is wanted, and what it passes is compared exactly.
package eventfilter

// Package eventfilter splits an event's filter between the kernel and this program.
//
//	text → cexpr.Parser → Split → Filter ─┬─ Kernel: what the kernel can compare
//	                                      └─ Match: what compares text that it can't
//
// The language is the kernel's own (Documentation/trace/events.rst, section 5), with !~
// besides. The kernel compares numbers, and text that is in the record. The file name of
// openat(2) is an address there, and the kernel takes it for one of its own memory: a
// comparison fails without a word. What points to text is compared here, once the text
// has been read.
//
// The part for the kernel lets pass all that the whole filter does. So what it drops is
// nobody's loss, and what it passes is compared exactly.
package eventfilter

// Package callframe finds the functions that an ELF file's call frame
// information describes: where each begins and ends, and the program that says how to
// unwind it (DWARF 5, 6.4; the Linux Standard Base for .eh_frame).
//
//	elfimage.Image ─ EHFrame, DebugFrame ─→ Section ─ Find ─→ Function
//
// Nothing is read before it is asked for. Find reads one record, by way of the
// search table of .eh_frame_hdr. Where a file has no such table, or one that does
// not agree with the records, the section is scanned once, for the places of its
// records only.
//
// The file is hostile: each record and the number of functions have limits, no
// count is believed beyond the bytes that the file has, and of what is malformed the
// readable part is used.
package callframe

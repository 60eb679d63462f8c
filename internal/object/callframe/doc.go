// Package callframe finds the functions that an ELF file's call frame information describes:
// the start and end of each, and the program that says how to unwind it (DWARF 5, 6.4; the
// Linux Standard Base for .eh_frame).
//
//	elfimage.Image ─ EHFrame, DebugFrame ─→ Section ─ Find ─→ Function
//
// Everything is read on demand. Find reads one record, which it finds through the search table
// of .eh_frame_hdr. If a file has no such table, or the table contradicts the records, the
// section is scanned once, and only the places of its records are kept.
//
// The file is untrusted: the size of records and the number of functions are limited, and so
// are counts, by the bytes that the file has. If a section is malformed, its readable part is
// used.
package callframe

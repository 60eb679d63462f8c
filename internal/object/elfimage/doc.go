// Package elfimage reads ELF files of every class and byte order. It reads the headers
// immediately and everything else on demand.
//
//	io.ReaderAt ─ New ─→ Image: segments, sections
//	                      ├ Read, Bytes, BytesAt   by file offset, section, address
//	                      ├ Uncompressed           debug sections, packed in any way
//	                      └ Dynamic, Relatives     what the loader reads
//
// debug/elf supplies the names and types of these headers, but does not read the files. It
// rejects a whole file because of one misplaced section, although the loader runs it. It also
// makes thousands of allocations for a large file.
//
// Files are untrusted: counts and sizes are limited, and no memory is allocated for bytes that
// the file does not have. A file may lack section headers. Only program headers are trusted to
// say what is in memory.
package elfimage

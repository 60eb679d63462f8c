// Package elfimage reads ELF files of every class and byte order. It reads the headers at
// once and everything else on demand.
//
//	io.ReaderAt ─ New ─→ Image: segments, sections
//	                      ├ Read, Bytes, BytesAt   by file offset, section, address
//	                      ├ Uncompressed           debug sections, packed in any way
//	                      └ Dynamic, Relatives     what the loader reads
//
// debug/elf reads the names and types of these headers, and is not used to read
// files: it refuses a whole file for one section that is out of place, where the
// loader runs it, and takes some thousand allocations for a large one.
//
// Files are hostile: counts and sizes have limits, and no memory is taken for
// bytes that the file does not have. Section headers are what a file may lack;
// only the program headers are believed to say what is in memory.
package elfimage

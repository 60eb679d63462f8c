// Package symbols gives names and source lines to places in code: to file
// offsets in ELF files, to kernel addresses, and to addresses in code that a
// just-in-time compiler wrote a map of. And it finds the places of names and lines
// in a file, for those who set probes.
//
//	file offset → segment → virtual address → table → Symbol → Demangle
//	                                        ↘ Go's table, DWARF → Lines
//
//	name, pattern → Functions → Find, Match, or Nearest when there is none
//	source line   → DWARF, Go's table → Places
//	function      → DWARF → Params (package dwarfparam)
//
// # ELF files
//
// A File is opened with a few reads of its headers. Prepare looks up many places
// together and keeps only their names. Without it, the first Lookup collects the
// names of all code into one sorted table. The first Lines reads the debug sections,
// which Lookup never does, however large they are. Names come from, in this order:
//
//   - .symtab of the file;
//   - .symtab of its separate debug file, found by build id or debug link
//     through Options;
//   - without either: .dynsym (or the table that PT_DYNAMIC points at, in a file
//     without section headers), MiniDebugInfo (.gnu_debugdata), and the function
//     table that every Go program carries.
//
// The stubs of the procedure linkage table are in none of them and are added
// as `name@plt`. Symbol versions are dropped.
//
// Where several names have the same address one is kept: one with a size before
// one without, a function before a label, an exported name before a local one, a
// current version before an old one, the fewest leading underscores (malloc, not
// __libc_malloc; write, not __write), a strong name before a weak one, the
// shorter, and at last the first in the order of bytes. Kallsyms does the same.
//
// # Names to places
//
// Functions keeps all of it: every alias of every table, the stubs, and what the
// file imports, which has no place in it and is listed so that a caller can say
// where to look instead. Find takes a name as the linker has it or as the source
// has it: ns::T::f means all overloads, ns::T::f(int) one; Rust's without the hash;
// main.F of Go all instances of a generic function. Demangling takes microseconds,
// so raw names are looked at first for the words that a match must hold.
//
// An offset is the one at which the kernel probes: in the file, by the segment that
// holds the address. Places and Params speak of the same.
//
// The vdso is such a file too, in the memory of any process: hand its bytes to
// Open in a bytes.Reader.
//
// # Invariants
//
//   - Tables never change once they are read. Lookup takes no lock and
//     allocates nothing, and a Symbol's strings stay valid for good.
//   - Tables are kept by virtual address, since a separate debug file shares
//     those and not the offsets; callers see file offsets only. The code that a
//     table may name is what the file itself, not the debug file, says is
//     executable.
//   - Files are hostile. Every count and size has a limit, stated as a constant
//     beside its reader; reads are checked against the size of the file before
//     memory is taken for them; a table that can't be read costs its own names
//     and is reported by Load.
//   - Names are handed on as they are: escaping them is the business of who
//     prints them.
//
// Nothing here knows of processes or looks at the clock. Readers come from the caller;
// of itself only DebugFiles opens files.
package symbols

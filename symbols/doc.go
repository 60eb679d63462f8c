// Package symbols names places in code: file offsets in ELF files, kernel addresses, and
// addresses in code for which a just-in-time compiler wrote a map. It also finds the places
// of names and source lines in a file, for probes.
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
// Opening a File takes a few reads of its headers. Prepare looks up many places together
// and keeps only their names. Without Prepare, the first Lookup collects the names of all
// code into one sorted table. Only Lines reads the debug sections, when it is first called.
// Names come from these tables, in this order:
//
//   - .symtab of the file;
//   - .symtab of its separate debug file, found by build id or debug link through Options;
//   - without either: .dynsym (or the table that PT_DYNAMIC points at, in a file without
//     section headers), MiniDebugInfo (.gnu_debugdata), and the function table that every
//     Go program carries.
//
// None of them has the stubs of the procedure linkage table, which are added as `name@plt`.
// Symbol versions are dropped.
//
// Where no symbol tells what code is, Bounds has its function's beginning and end, and
// Implied the name that tables in the data give it: those of CPython 3 and its modules.
//
// Where several names have the same address, one is kept. The table prefers, in this order,
// a name with a size, a function over a label, an exported name over a local one, a current
// version over an old one, fewer leading underscores (malloc, not __libc_malloc), a strong
// name over a weak one, the shorter name, and the first in byte order. Kallsyms does the
// same.
//
// # Names to places
//
// Functions keeps every alias of every table, the stubs, and what the file imports.
// Imported functions have no place in the file; they are listed so that a caller can say
// where to look instead. Find takes a name as the linker or as the source spells it:
// ns::T::f means all overloads, ns::T::f(int) means one, Rust names have no hash, and
// main.F of a Go program means all instances of a generic function. Demangling takes
// microseconds, so Find first tests whether a raw name holds the words of the query.
//
// Offsets are those at which the kernel probes: offsets in the file, by the segment that
// holds the address. Places and Params use the same offsets.
//
// The vdso, in the memory of any process, is an ELF file too: pass its bytes to Open in a
// bytes.Reader.
//
// # Guarantees
//
//   - Tables never change once they are read. Lookup takes no lock and allocates nothing,
//     and the strings of a Symbol stay valid.
//   - Tables are kept by virtual address, because a separate debug file shares those and
//     not the offsets. Callers only see file offsets. The file itself, not the debug file,
//     decides which addresses are code.
//   - Files are hostile. Every count and size has a limit, stated as a constant beside its
//     reader. Reads are checked against the size of the file before memory is allocated. A
//     table that cannot be read costs its own names only, and Load reports it.
//   - Names are returned unchanged: the caller escapes them when it prints them.
//
// The package knows no processes and reads no clock. Callers provide the readers; only
// DebugFiles opens files.
//
// Package callchain/stacks names the stacks of perf samples with this package: start there.
package symbols

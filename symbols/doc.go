// Package symbols names places in code: file offsets in ELF files, kernel addresses, and
// addresses in JIT-compiled code (perf maps). For probes, it also finds the offsets of
// functions and source lines in a file.
//
//	f, err := symbols.Open(file, size, symbols.Options{})
//	…
//	if s, ok := f.Lookup(offset); ok {
//		fmt.Printf("%s+%#x\n", symbols.Demangle(s.Name), offset-s.Start)
//	}
//
// example_test.go has this and more as runnable examples. To name the stacks of perf samples,
// start at package callchain/stacks, which uses this one. An overview:
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
// Open reads only the headers of a file. Prepare looks up many places together and keeps only
// their names. Without Prepare, the first Lookup collects the names of all code into one sorted
// table. The debug sections are read at the first call that needs them: Lines, Places, Params,
// Value or Inlined. Names come from these tables, in this order:
//
//   - .symtab of the file;
//   - .symtab of its separate debug file, found by build id or debug link through Options;
//   - without either: .dynsym (or the table that PT_DYNAMIC points at, in a file without
//     section headers), MiniDebugInfo (.gnu_debugdata), and the function table that every
//     Go program carries.
//
// The stubs of the procedure linkage table are in none of these tables; they are added as
// `name@plt`. Symbol versions are dropped.
//
// If no symbol covers a place, Bounds returns the start and size of its function. Implied
// returns the name by which CPython 3 and its extension modules refer to it in their data.
//
// If several names have the same address, one is kept. The table prefers, in this order:
//
//   - a name with a size;
//   - a function over a label;
//   - an exported name over a local one;
//   - a current version over an old one;
//   - fewer leading underscores (malloc, not __libc_malloc);
//   - a strong name over a weak one;
//   - the shorter name, and the first in byte order.
//
// Kallsyms does the same.
//
// # Names to places
//
// Functions returns every alias of every table, the stubs, and the imported functions, which
// have no place in the file. They are listed so that a caller can say where to look instead.
// Find takes a name as the linker or as the source spells it: ns::T::f means all overloads,
// ns::T::f(int) means one, Rust names have no hash, and main.F of a Go program means all
// instances of a generic function. Demangling takes microseconds, so Find first tests whether a
// raw name contains the words of the query.
//
// Offsets are offsets in the file, which is how the kernel places uprobes. Places and Params
// use the same offsets.
//
// The vdso, which is in the memory of every process, is an ELF file, too: copy its bytes and
// pass a bytes.Reader to Open.
//
// # Guarantees
//
//   - Tables never change once they are read. Lookup takes no lock and allocates nothing,
//     and the strings of a Symbol stay valid.
//   - Tables are sorted by virtual address, because a separate debug file has the same
//     addresses but other offsets. Callers only see file offsets. The file itself, not the
//     debug file, decides which addresses are code.
//   - Files are hostile. Every count and size has a limit, stated as a constant next to its
//     reader. Reads are checked against the size of the file before memory is allocated. If a
//     table cannot be read, only its names are missing, and Load reports it.
//   - Names are returned unchanged: the caller escapes them when it prints them.
//
// The package knows no processes and reads no clock. Callers provide the readers; only
// DebugFiles opens files.
package symbols

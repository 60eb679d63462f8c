// Package dwarfline finds the source line of an address and the chain of inlined calls there,
// in DWARF 2 to 5.
//
//	index, err := dwarfline.Open(sections, binary.LittleEndian)
//	…
//	lines, err := index.Lookup(vaddr) // innermost inlined function first
//	for _, l := range lines {
//		fmt.Printf("%s at %s:%d\n", l.Function, l.File, l.Line)
//	}
//
// example_test.go has a runnable example. The package is made for a profiler, which looks up
// many addresses of one large, untrusted file, and few of them share a unit.
//
//	sections → units → locator → unit's tree and line table → names
//
// A Lookup takes these steps:
//
//   - The first Lookup asks the Source for the sections, walks the headers of the units, and
//     reads the addresses in each unit's root entry (locator).
//   - The unit that contains an address is decoded once: its functions and inlined copies to a
//     sorted list of segments, its line number program to sorted rows. Each further address
//     costs two binary searches.
//   - Names are looked up only for functions that are returned. They may be in other units:
//     abstract origins and specifications are followed.
//
// Probes need the other direction. Places finds the instructions of a source line; it runs the
// line tables of the units that have the file. Subprogram returns the entry of a function as a
// DIE, from which a caller gets parameters, types and location lists (see dwarfparam). The
// sections of location lists are read on first use.
//
// Decoded units are kept in a cache of limited size. The sections belong to the Source. Nothing
// is kept per address.
//
// Invariants: every read goes through a bytecursor.Cursor, which cannot leave its section.
// Every loop consumes bytes of the file or has a constant bound. Allocations are at most a
// small multiple of the bytes read for them. If a part of the file is damaged, only what it
// describes is missing. The number of entries that can be reached from one DIE is limited,
// since types may refer to each other in circles.
//
// To find functions, parameters and types in .dwo and .dwp files, the Source must be a
// Splitter. Without these files, code has lines but no functions, and SplitErr returns the
// reason.
//
// Two forms are not supported: the shared file of dwz (functions named there have no name
// here), and the .debug_types section of DWARF 4.
//
// # Why not debug/dwarf
//
// This package uses the tags and attributes of debug/dwarf, but not its decoder. That is not
// meant for untrusted input, as its documentation says. It allocates as much as the counts in a
// line table's header ask for, and running out of memory is not a panic that could be
// recovered. One unit of an unknown version makes it refuse the whole file. And it allocates a
// value for every attribute of every entry.
package dwarfline

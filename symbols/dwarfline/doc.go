// Package dwarfline finds the source line of an address, and the chain of
// inlined calls that the compiler put there, from DWARF 2 to 5.
//
// It is made for a profiler: many addresses of one large file, few of which
// share a unit, and files that nobody vouches for. The way of a Lookup:
//
//		sections → units → locator → unit's tree and line table → names
//
//	  - The first Lookup asks the Source for the sections, walks the headers of
//	    the units and reads each unit's root entry for its addresses (locator).
//	  - A unit that an address falls into is decoded once: its functions and
//	    inlined copies to a sorted list of segments, its line number program to
//	    sorted rows. Each further address costs two binary searches.
//	  - Names are followed through abstract origins and specifications, across
//	    units, only for functions that are asked for.
//
// The same units answer the questions of those who set probes. Places goes the
// other way, from a line to its instructions; it runs the line tables of the units
// that have the file. Subprogram hands out the entry of a function as a DIE, for
// whoever wants to know of its parameters and types (dwarfparam), location lists
// included; their sections are read when somebody asks.
//
// Decoded units are kept up to a number of bytes, those used last; the
// sections stay the Source's. Nothing is kept per address.
//
// Invariants: every read goes through a cursor, which can't leave its section;
// every loop consumes bytes of the file or has a constant bound; what is
// allocated is at most a small multiple of the bytes read for it. Damaged
// parts cost what they described and nothing else. What is reached from one DIE
// has a bound of its own, since types may refer to each other in circles.
//
// Functions, parameters and types in .dwo and .dwp files are found by a Source that is a Splitter.
// Without such a file, code has lines but no functions, and SplitErr says why.
//
// Not followed: the shared file of dwz (functions named there have no name
// here), and the .debug_types section of DWARF 4.
//
// # Why not debug/dwarf
//
// The standard library's decoder names the tags and attributes here, but it
// does not read the files. Its documentation excludes untrusted input: counts
// in a line table's header are allocated as they stand, and running out of
// memory is no panic that could be recovered from. One unit of an unknown
// version makes it refuse the whole file. And it decodes every attribute of
// every entry to an allocated value.
package dwarfline

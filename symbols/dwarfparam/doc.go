// Package dwarfparam reads the parameters and variables of a function from debug information:
// their names, types in source form, and locations. Locations of parameters are those before
// the function's first instruction runs, where an entry probe reads them.
//
//	params, err := dwarfparam.Read(index, vaddr, dwarfparam.Options{Machine: elf.EM_X86_64})
//	…
//	for _, p := range params {
//		fmt.Println(p.Type, p.Name, p.Location)
//	}
//
// index is a dwarfline.Index; example_test.go has a runnable example. The sources of the
// result:
//
//	dwarfline.Index ─ Subprogram ─→ entries of the parameters
//	    ├ name, type text        cname.go, names of Go and Rust as they are
//	    ├ what DWARF says        expr.go: valid at the entry only in optimized code
//	    └ what the ABI says      sysv.go, aapcs64.go, goabi.go, rust.go
//
// In unoptimized code, DWARF describes the stack slot to which the function will save a
// parameter. At the entry, the value is still where the caller put it. So a location that
// cannot be right at the entry is replaced by the calling convention's: System V (amd64),
// AAPCS64 (arm64), Go's register ABI, and, for Rust, which guarantees no convention, the part
// that has not changed for years. It is not replaced in optimized copies of a function, which
// have their own conventions, nor if DWARF contradicts the convention for another parameter.
//
// If a location is unknown, Location.Why has the reason; nothing is guessed.
//
// Evaluate follows a path of members from a variable, at any instruction:
//
//	path → cexpr.Parser → Evaluate ─┬─ the variable: variable.go, by its scope and location
//	                                └─ members, elements, pointers: path.go → Value
//
// # Limits
//
// Types in the .debug_types of DWARF 4 and in dwz's shared file are not supported: such
// parameters have a name but no type, and a location only in optimized code. For functions in
// .dwo and .dwp files, the Source of the Index must be a dwarfline.Splitter. dwarfline limits
// all reads to some million entries per function.
package dwarfparam

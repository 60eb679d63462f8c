// Package dwarfparam finds the parameters and variables of a function in debug information:
// their names, their types as the source wrote them, and where their values are
// before the first instruction of the function runs, which is where a probe at
// its entry reads them.
//
//	dwarfline.Index ─ Subprogram ─→ entries of the parameters
//	    ├ name, type text        cname.go, names of Go and Rust as they are
//	    ├ what DWARF says        expr.go: valid at the entry only in optimized code
//	    └ what the ABI says      sysv.go, aapcs64.go, goabi.go, rust.go
//
// Without optimization compilers describe the slot of the stack to which the
// function will save a parameter; at the entry it is still where the caller put
// it. So a location that can't hold at the entry is replaced by that of the
// calling convention: System V (amd64), AAPCS64 (arm64), Go's register ABI, and of
// Rust, which promises no convention, the part that has not changed for years.
// It is not replaced in copies that the optimizer made of a function, which have
// conventions of their own, nor where DWARF contradicts the convention for
// another parameter.
//
// What is not known is said so in Location.Why; nothing is guessed.
//
// Evaluate follows a path of members from a variable, at any instruction:
//
//	path → cexpr.Parser → Evaluate ─┬─ the variable: variable.go, by its scope and location
//	                                └─ members, elements, pointers: path.go → Value
//
// # Limits
//
// Types in the .debug_types of DWARF 4 and in dwz's shared file are not followed:
// such parameters have a name, but no type, and a place only in optimized code.
// Functions in .dwo and .dwp files have parameters where the Source of the Index finds these files
// (dwarfline.Splitter). All reads are bounded by dwarfline: some million entries for one function.
package dwarfparam

// Package ctypes resolves the types that a program names: the language's own, C's, the kernel's,
// and those that the program defines.
//
//	syntax.Program.Definitions, Kernel → New → Scope ─┬─ Resolve(*syntax.TypeExpr) → *types.Type
//	                                                  ├─ Complete, Offsetof
//	                                                  └─ Constant
//
// Definitions have the layout that C compilers give them on this machine's architecture.
//
// A pointer to a kernel struct points to an incomplete type, with a name and a size but no fields.
// Complete returns the struct with its fields. A program that names one struct therefore does not
// load every type reachable from it.
package ctypes

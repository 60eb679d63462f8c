// Package ctypes says what the types of a program are: the language's own, C's, those that the
// program defines, and the kernel's.
//
//	syntax.Program.Definitions, Kernel → New → Scope ─┬─ Resolve(*syntax.TypeExpr) → *types.Type
//	                                                  ├─ Complete, Offsetof
//	                                                  └─ Constant
//
// Definitions have the layout that C's compilers give them on the machine that runs them.
//
// A pointer to a struct of the kernel points to an incomplete type: it has a name and a size,
// but no fields. Complete returns the struct with its fields. So a program that names one
// struct does not read all that can be reached from it.
package ctypes

// Package gotable reads the table of functions (pclntab) that every Go program
// carries for its own tracebacks, stripped or not.
//
//	elfimage.Image ─ Open ─→ Table ─ Find ─→ Func ─ Values ─→ (addresses, value)…
//
// Open finds the table in the file and the places that it does not say itself;
// a Table is then its functions, and a Func the offsets of what the compiler
// left about it: its name, and pc-value tables of stack depth, file, line and
// inlined call. What these mean is the caller's: callchain makes unwind rules of
// the first, symbols makes names and source lines of the others.
//
// The layouts of Go 1.2, 1.16, 1.18 and 1.20 are read (runtime/symtab.go,
// runtime/runtime2.go, internal/abi/symtab.go and cmd/link/internal/ld/pcln.go
// of the Go distribution). Each stayed until the next one.
//
// The file is hostile: what lies outside of the table reads as zero, and a
// count is believed only as far as there are bytes for it. A Table never changes,
// so that goroutines may share it.
package gotable

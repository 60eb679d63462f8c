// Package gotable reads the function table (pclntab) that every Go program carries for its own
// tracebacks, stripped or not.
//
//	elfimage.Image ─ Open ─→ Table ─ Find ─→ Func ─ Values ─→ (addresses, value)…
//
// Open finds the table in the file, and the addresses that the table itself lacks. A Table
// holds functions. A Func holds the offsets of the compiler's data about a function: its name,
// and pc-value tables of stack depth, file, line and inlined call. The caller interprets them:
// callchain makes unwind rules of the first, symbols makes names and source lines of the
// others.
//
// It reads the layouts of Go 1.2, 1.16, 1.18 and 1.20 (runtime/symtab.go, runtime/runtime2.go,
// internal/abi/symtab.go and cmd/link/internal/ld/pcln.go of the Go distribution). Each was in
// use until the next one.
//
// The file is untrusted: bytes outside the table read as zero, and counts are limited by the
// bytes that are there. A Table never changes, so goroutines may share it.
package gotable

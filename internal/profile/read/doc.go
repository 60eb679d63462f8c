// Package read reads profiles that other tools wrote, and those that ringtap wrote, into a
// profile.Profile. It is the opposite of internal/output and, like it, does not know where numbers
// come from.
//
//	p, err := read.Profile("perf.txt", file)
//	if errors.Is(err, read.ErrPerfData) {
//		// It is a recording: open it with internal/perfdata.
//	}
//
// # Forms
//
// Profile recognizes the form by the content (read.go):
//
//   - Folded stacks (folded.go): lines "comm;root;…;leaf VALUE" of ringtap, stackcollapse-perf.pl
//     and many other tools.
//   - pprof (pprof.go): profile.proto, plain or compressed with gzip.
//   - ringtap's JSON (json.go), which internal/output documents.
//   - The text of perf script (script.go and head.go): one metric per event.
//
// # What a file does not say
//
// Folded stacks have neither objects nor addresses, so their frames are in an object without a path.
// In every form, frames of the kernel are in an object with Kernel set, and those at the leaf's end
// of a stack are the row's kernel stack. "[truncated]", which ringtap writes in place of a missing
// root, becomes Stack.Truncated.
//
// # Bounds
//
// Files are hostile. Equal names, frames, stacks and rows are stored once. Whatever is in a file, the
// profile takes at most 40 times its size (a test tries the worst cases). A line may have 1 MiB. A
// pprof profile may have 256 MiB, and 50 times the size of its compressed file.
package read

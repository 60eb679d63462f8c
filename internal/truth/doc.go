// Package truth holds programs that know their own call chain, for tests that
// compare what a profiler sampled with what really ran. Only tests and the
// bench runner import it.
//
// A program is a source of testdata compiled with one set of flags: with frame
// pointers and without, static, position independent or neither, stripped,
// deep, in threads, in a signal handler. Run with a number of CPU seconds it
// prints its busy chain, root first, one function a line as the source names
// it, and then spins at the chain's leaf for so long:
//
//	Program → Build (compilers) → Built → Command(seconds) → samples → Match
//
// What surrounds the chain is not the program's: the startup code of libc or
// of a language's runtime above its first function is never part of Chain, and
// Gap stands for frames of libraries within it or below its end. Nearly all
// samples of a run match; the few that fall on starting and ending do not, so
// a test counts matches and asks for a share.
//
// The chains themselves are checked against gdb's backtraces by this package's
// own tests.
package truth

// Package truth holds programs that know their own call chain, for tests that
// compare what a profiler sampled with what really ran. Only tests and the
// bench runner import it.
//
// A program is a source in testdata, compiled with one set of flags: with or
// without frame pointers, static, position independent or neither, stripped,
// deep, in threads, in a signal handler. Its argument is a number of CPU seconds.
// It prints its busy chain, root first, one function per line as the source names
// it. Then it spins at the chain's leaf for that time:
//
//	Program → Build (compilers) → Built → Command(seconds) → samples → Match
//
// Chain has only the program's own functions. It never contains the startup code
// of libc or of a language's runtime above the first function. Gap stands for
// frames of libraries within the chain or below its end. Nearly all samples of a
// run match. The few samples of its start and end do not, so a test counts matches
// and requires a share.
//
// The chains themselves are checked against gdb's backtraces by this package's
// own tests.
package truth

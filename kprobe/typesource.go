package kprobe

import "github.com/ringtap/ringtap/ftrace"

// Types is what Resolve asks of the kernel's type information.
type Types interface {
	// Fetch makes fetch arguments of one that has a Path, for a probe at the
	// first instruction of f or at its return. Values that they begin with are
	// $arg1, $arg2 … and $retval: Resolve translates these. Names are
	// filled in, and are the caller's to make unique; where arg.Fetch has a
	// Name or a Type, those are taken. Several arguments come of "$args" alone.
	// f.Name is as kallsyms has it, with a compiler's suffix such as .isra.0
	// where it has one. The error is a *ftrace.SyntaxError whose Text is arg.Path
	// where a place in that is to blame, or else a sentence.
	Fetch(f Function, isReturn bool, arg Arg) ([]ftrace.FetchArg, error)
}

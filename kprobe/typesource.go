package kprobe

import "github.com/ringtap/ringtap/ftrace"

// Types provides the kernel's type information to Resolve.
type Types interface {
	// Fetch returns the fetch arguments for an argument with a Path, for a probe at the first
	// instruction of f or at its return. The expressions are based on $arg1, $arg2 … and
	// $retval, which Resolve translates. Names are set, but the caller must make them unique. A
	// Name or Type in arg.Fetch is used. Only "$args" gives several arguments.
	//
	// f.Name is as in kallsyms, including a compiler's suffix such as .isra.0. If a part of the
	// Path is wrong, the error is a *ftrace.SyntaxError whose Text is arg.Path. Otherwise it is
	// one sentence.
	Fetch(f Function, isReturn bool, arg Arg) ([]ftrace.FetchArg, error)
}

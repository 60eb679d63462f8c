package kprobe

import "github.com/ringtap/ringtap/ftrace"

// Kind is the letter that a definition starts with.
type Kind byte

// The kinds of probes.
const (
	Entry  Kind = 'p' // at an instruction, usually a function's first one
	Return Kind = 'r' // when a function returns
)

// Definition is a parsed probe as the user wrote it. No file has been read yet. The probe is at
// Symbol, which may be a pattern, or at Address if Symbol is "".
type Definition struct {
	Text    string // the whole definition, unchanged
	Kind    Kind
	Alias   string // the event's name if one was given, else ""
	Module  string // the function's module, "" if none was given
	Symbol  string // the function, without quotes
	Pattern bool   // Symbol has an unquoted *, ? or [
	Offset  uint64 // in bytes, from the start of Symbol
	Address uint64 // of an instruction in the kernel's memory
	Args    []Arg  // what to fetch, in order
	Fetch   string // the unparsed text of Args
}

// Arg is one argument to fetch: a fetch argument of the kernel, or an expression over the
// function's parameters, which needs type information.
type Arg struct {
	// Path is a C expression over parameters, such as path->dentry->d_name.name, or over the
	// result ($retval->f_flags). "$args" means all parameters or, in a return probe, the
	// result. Path is "" if Fetch has everything.
	Path string
	// Fetch is the argument in the kernel's syntax. For a Path, only Name and Type are set, if
	// the definition has them. Name is "" if the definition has none.
	Fetch ftrace.FetchArg
	// Pos is the start of the argument in Definition.Text.
	Pos int
}

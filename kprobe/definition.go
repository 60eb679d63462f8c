package kprobe

import "github.com/ringtap/ringtap/ftrace"

// Kind is what a definition begins with.
type Kind byte

// The kinds of probes.
const (
	Entry  Kind = 'p' // at an instruction, mostly a function's first
	Return Kind = 'r' // when a function returns
)

// Definition is a probe as its user wrote it, taken apart and nothing else: no
// file was looked at. It is at Symbol, which may be a pattern, or where that is
// "" at Address.
type Definition struct {
	Text    string // the whole definition as it was written
	Kind    Kind
	Alias   string // the event's name if one was given, else ""
	Module  string // that has the function, "" if none was given
	Symbol  string // the function, without quotes
	Pattern bool   // Symbol has *, ? or [ outside of quotes
	Offset  uint64 // bytes behind Symbol's start
	Address uint64 // of an instruction in the kernel's memory
	Args    []Arg  // what to fetch, in order
	Fetch   string // the text of Args as it was written
}

// Arg is one argument to fetch: in the kernel's words, or an expression over the
// function's parameters that only type information makes sense of.
type Arg struct {
	// Path is a C expression over parameters such as path->dentry->d_name.name,
	// or over what is returned ($retval->f_flags); "$args" for all parameters,
	// with a return probe for what is returned; "" where Fetch says it all.
	Path string
	// Fetch is the argument in the kernel's grammar. For a Path only the Name
	// and Type are filled in, where the definition gives them. Name is "" where
	// the definition gives none.
	Fetch ftrace.FetchArg
	// Pos is where the argument begins in Definition.Text.
	Pos int
}

package uprobe

import "github.com/ringtap/ringtap/ftrace"

// Kind is the letter that a definition starts with.
type Kind byte

// The kinds of probes.
const (
	Entry  Kind = 'p' // at an instruction, usually a function's first one
	Return Kind = 'r' // when a function returns
	Mark   Kind = 'u' // at a USDT probe, a marker that the program's author placed
)

// Definition is a parsed probe as the user wrote it. No file has been read yet. Place decides
// which of the fields Symbol to Mark are set.
type Definition struct {
	Text   string // the whole definition, unchanged
	Kind   Kind
	Alias  string // the event's name if one was given, else ""
	Target string // the program or library: a path, a command, a soname
	Place  Place

	Symbol  string // for PlaceFunction, without quotes
	Pattern bool   // Symbol has an unquoted *, ? or [
	Offset  uint64 // in bytes, from the start of Symbol

	Address uint64 // for PlaceOffset: file offset, not an address in memory

	File string // for PlaceLine: the source file or the end of its path
	Line int    // counted from 1

	Provider, Mark string // for PlaceMark; each may be a pattern

	Args []Arg // what to fetch, in order
	// Fetch is the unparsed text of Args.
	Fetch string
}

// Place says how a Definition specifies the instruction.
type Place uint8

// The ways to specify an instruction.
const (
	PlaceFunction Place = iota // SYMBOL, SYMBOL+OFF, a pattern
	PlaceOffset                // 0xADDR, a file offset
	PlaceLine                  // file.c:42
	PlaceMark                  // provider:name
)

// Arg is one argument to fetch: a fetch argument of the kernel, the name of a parameter, or a
// path of members.
type Arg struct {
	// Param is the parameter's name, or "$args" for all parameters. It is "" if Fetch has
	// everything.
	Param string
	// Path is a path of members that starts at a variable (r->id, pos[1].x), or "".
	Path string
	// Fetch is the argument in the kernel's syntax. For a Param or a Path, only Name and Type
	// are set, if the definition has them. Name is "" if the definition has none.
	Fetch ftrace.FetchArg
	// Pos is the start of the argument in Definition.Text.
	Pos int
}

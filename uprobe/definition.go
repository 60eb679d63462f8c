package uprobe

import "github.com/ringtap/ringtap/ftrace"

// Kind is what a definition begins with.
type Kind byte

// The kinds of probes.
const (
	Entry  Kind = 'p' // at an instruction, mostly a function's first
	Return Kind = 'r' // when a function returns
	Mark   Kind = 'u' // at a USDT probe, a mark that the program's author set
)

// Definition is a probe as its user wrote it, taken apart and nothing else: no
// file was looked at. Which of the fields that say where are filled in depends
// on Place.
type Definition struct {
	Text   string // the whole definition as it was written
	Kind   Kind
	Alias  string // the event's name if one was given, else ""
	Target string // of the program or library: a path, a command, a soname
	Place  Place

	Symbol  string // of PlaceFunction, without quotes
	Pattern bool   // Symbol has *, ? or [ outside of quotes
	Offset  uint64 // bytes behind Symbol's start

	Address uint64 // of PlaceOffset: in the file, not in memory

	File string // of PlaceLine: the source file or the end of its path
	Line int    // counted from 1

	Provider, Mark string // of PlaceMark; each may be a pattern

	Args []Arg // what to fetch, in order
	// Fetch is the text of Args as it was written.
	Fetch string
}

// Place says in which of its ways a Definition names the instruction.
type Place uint8

// The ways to name a place.
const (
	PlaceFunction Place = iota // SYMBOL, SYMBOL+OFF, a pattern
	PlaceOffset                // 0xADDR, a file offset
	PlaceLine                  // file.c:42
	PlaceMark                  // provider:name
)

// Arg is one argument to fetch: in the kernel's words, or the name of a
// parameter that debug information knows.
type Arg struct {
	// Param is the parameter's name, "$args" for all of them, or "" where Fetch
	// says it all.
	Param string
	// Path is a path of members that begins with a variable, "" for none: r->id, pos[1].x.
	Path string
	// Fetch is the argument in the kernel's grammar. For a Param only the Name
	// and Type are filled in, where the definition gives them. Name is "" where
	// the definition gives none.
	Fetch ftrace.FetchArg
	// Pos is where the argument begins in Definition.Text.
	Pos int
}

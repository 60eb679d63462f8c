package uprobe

import "strings"

// SymbolError says that a target has no function of a name that can be probed.
type SymbolError struct {
	Name string
	Path string
	// Imported says that Path only calls the function; Library is the one that
	// has it, "" if none was found.
	Imported bool
	Library  string
	Stripped bool     // Path has no symbol table, only what the dynamic linker needs
	Near     []string // names that resemble it, nearest first
}

func (e *SymbolError) Error() string {
	return e.Path + " has no function " + e.Name + "; near it: " + strings.Join(e.Near, ", ")
}

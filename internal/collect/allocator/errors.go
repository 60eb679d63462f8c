package allocator

import (
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/uprobe"
)

// NoneError is returned when no function that allocates was found.
type NoneError struct {
	where string
	err   error // what is wrong with the file that should have one; may be nil
}

func (e *NoneError) Error() string {
	text := e.where + ": no allocator found (malloc, mmap and the like)"
	var symbol *uprobe.SymbolError
	switch {
	case errors.As(e.err, &symbol) && symbol.Stripped && !symbol.Imported:
		text += fmt.Sprintf(": %s is statically linked and stripped, so that ringtap cannot find its allocator; "+
			"run it with its symbol table, or install its debug file (.gnu_debuglink or build id)", symbol.Path)
	case errors.Is(e.err, uprobe.ErrMachine):
		text += fmt.Sprintf(": %v; memleak sees only the allocators of this machine's own programs", e.err)
	case errors.As(e.err, &symbol):
		text += fmt.Sprintf(": %s has none and loads no library that has one; memory that it takes by system calls, as Go's runtime does, "+
			"shows at a tracepoint: probe t:syscalls:sys_enter_mmap", symbol.Path)
	case e.err != nil:
		text += ": " + e.err.Error()
	}
	return escape.Text(text)
}

// Unwrap returns the reason.
func (e *NoneError) Unwrap() error { return e.err }

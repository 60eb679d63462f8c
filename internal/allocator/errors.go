package allocator

import (
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/uprobe"
)

// NoneError says that there is no function that allocates.
type NoneError struct {
	Where string
	Err   error // why, of the file that should have them; may be nil
}

func (e *NoneError) Error() string {
	text := e.Where + ": no allocator found (malloc, mmap and the like)"
	var symbol *uprobe.SymbolError
	switch {
	case errors.As(e.Err, &symbol) && symbol.Stripped && !symbol.Imported:
		text += fmt.Sprintf(": %s is statically linked and stripped, so that ringtap cannot find its allocator; "+
			"run it with its symbol table, or install its debug file (.gnu_debuglink or build id)", symbol.Path)
	case errors.Is(e.Err, uprobe.ErrMachine):
		text += fmt.Sprintf(": %v; memleak sees only the allocators of this machine's own programs", e.Err)
	case errors.As(e.Err, &symbol):
		text += fmt.Sprintf(": %s has none and loads no library that has one; memory that it takes by system calls, as Go's runtime does, "+
			"shows at a tracepoint: probe t:syscalls:sys_enter_mmap", symbol.Path)
	case e.Err != nil:
		text += ": " + e.Err.Error()
	}
	return escape.Text(text)
}

// Unwrap returns the reason.
func (e *NoneError) Unwrap() error { return e.Err }

package symbols

import (
	"sync"

	"github.com/ringtap/ringtap/internal/callframe"
)

// functionBounds is what tells where functions begin that have no name.
type functionBounds struct {
	once  sync.Once
	table *callframe.Section // nil: the file has none
}

// Bounds returns where the function begins that holds the byte at fileOffset, and its
// size in bytes, both by the file's unwind information: stripped files have that too.
// It is for code that Lookup has no name for, and reads little of the file at each call.
func (f *File) Bounds(fileOffset uint64) (start, size uint64, ok bool) {
	b := &f.bounds
	b.once.Do(func() { b.table, _ = callframe.EHFrame(f.image) })
	if b.table == nil {
		return 0, 0, false
	}
	addr, ok := f.image.Vaddr(fileOffset)
	if !ok {
		return 0, 0, false
	}
	begin, end, ok := b.table.FunctionStart(addr)
	if !ok || addr-begin > fileOffset {
		return 0, 0, false
	}
	return fileOffset - (addr - begin), end - begin, true
}

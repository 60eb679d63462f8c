package symbols

import (
	"sync"

	"github.com/ringtap/ringtap/internal/object/callframe"
)

// functionBounds is the file's unwind table, which has the bounds of functions without a name.
type functionBounds struct {
	once  sync.Once
	table *callframe.Section // nil if the file has none
}

// Bounds returns the file offset and the size in bytes of the function that contains the byte
// at fileOffset. It reads them from the unwind information, which stripped files keep. Use it
// if Lookup has no name for the code. Each call reads little of the file.
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

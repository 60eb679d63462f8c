package callchain

// PageSize is that of a Page. A machine's own pages may be larger.
const PageSize = 4096

// Page is a piece of memory.
type Page [PageSize]byte

// Beyond is a stretch of a thread's stack, page by page: equal ones may be the same.
type Beyond struct {
	From  uint64 // where the first page begins
	Pages []*Page
}

// size is how many bytes it has.
func (b *Beyond) size() int { return len(b.Pages) * PageSize }

// at returns up to 8 bytes of memory; nil if they are not there, or lie in two pages, as no
// word of a stack does.
func (b *Beyond) at(addr, size uint64) []byte {
	off := addr - b.From
	if off >= uint64(b.size()) || size == 0 || size > 8 || off%PageSize+size > PageSize {
		return nil
	}
	return b.Pages[off/PageSize][off%PageSize:][:size]
}

package callchain

// PageSize is that of a Page. A machine's own pages may be larger.
const PageSize = 4096

// Page is a piece of memory.
type Page [PageSize]byte

// Stretch is a part of a thread's stack, page by page: equal ones may be the same.
type Stretch struct {
	From  uint64 // where the first page begins
	Pages []*Page
}

// Beyond is what is known of a thread's stack behind a copy.
type Beyond struct {
	Stretch
	// Top is where the stack begins, if the Stretch does not lead up to there. Between the two may
	// lie memory that no chain leads through: a large variable of an outermost function.
	Top Stretch
}

// Empty tells whether nothing is known.
func (b *Beyond) Empty() bool { return len(b.Pages) == 0 && len(b.Top.Pages) == 0 }

// End is where what is known ends.
func (b *Beyond) End() uint64 {
	if len(b.Top.Pages) > 0 {
		return b.Top.end()
	}
	return b.end()
}

// size is how many bytes it has.
func (b *Beyond) size() int { return (len(b.Pages) + len(b.Top.Pages)) * PageSize }

// at returns up to 8 bytes of memory; nil if they are not there, or lie in two pages, as no
// word of a stack does.
func (b *Beyond) at(addr, size uint64) []byte {
	if word := b.Stretch.at(addr, size); word != nil {
		return word
	}
	return b.Top.at(addr, size)
}

// end is where the last page ends.
func (s *Stretch) end() uint64 { return s.From + uint64(len(s.Pages))*PageSize }

// at is of Beyond.
func (s *Stretch) at(addr, size uint64) []byte {
	off := addr - s.From
	if off >= uint64(len(s.Pages))*PageSize || size == 0 || size > 8 || off%PageSize+size > PageSize {
		return nil
	}
	return s.Pages[off/PageSize][off%PageSize:][:size]
}

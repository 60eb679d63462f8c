package callchain

// PageSize is the size of a Page in bytes. The machine's own pages may be larger.
const PageSize = 4096

type Page [PageSize]byte

// Stretch is a part of a thread's stack. Pages with equal contents may share one Page.
type Stretch struct {
	From  uint64 // address of the first page
	Pages []*Page
}

// Beyond is the known part of a thread's stack beyond the copied one.
type Beyond struct {
	Stretch
	// Top is the outermost part of the stack, if the first Stretch does not reach it. Memory
	// between the two may hold no frames: a large variable of an outermost function.
	Top Stretch
}

// Empty reports whether nothing is known.
func (b *Beyond) Empty() bool { return len(b.Pages) == 0 && len(b.Top.Pages) == 0 }

// End returns the address where the known memory ends.
func (b *Beyond) End() uint64 {
	if len(b.Top.Pages) > 0 {
		return b.Top.end()
	}
	return b.end()
}

// size returns how many bytes are known.
func (b *Beyond) size() int { return (len(b.Pages) + len(b.Top.Pages)) * PageSize }

// at returns size bytes, at most 8, at addr. It is nil if they are unknown or span two pages; a
// word on a stack never does.
func (b *Beyond) at(addr, size uint64) []byte {
	if word := b.Stretch.at(addr, size); word != nil {
		return word
	}
	return b.Top.at(addr, size)
}

// end returns the address where the last page ends.
func (s *Stretch) end() uint64 { return s.From + uint64(len(s.Pages))*PageSize }

// at is like Beyond.at.
func (s *Stretch) at(addr, size uint64) []byte {
	off := addr - s.From
	if off >= uint64(len(s.Pages))*PageSize || size == 0 || size > 8 || off%PageSize+size > PageSize {
		return nil
	}
	return s.Pages[off/PageSize][off%PageSize:][:size]
}

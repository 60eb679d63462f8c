package atsample

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
)

// After stacksMark a reading's data is a list of parts. A part starts with a word that says its kind, and an
// address. Then come pages, or for partGoroutine the two bounds of the goroutine's stack. pageBit tells the
// word of a page from the word that starts a part.
const (
	partRemainder   = 1 << 2 // Calls.Beyond.Stretch
	partTop         = 2 << 2 // Calls.Beyond.Top
	partOtherStack  = 3 << 2 // one of Calls.Others
	partGoroutine   = 4 << 2
	partHeaderWords = 2
)

// The word of a page is its hash with pageBit set. If newPageBit is set too, the page's bytes follow.
// Otherwise the page is the one that the caller's table has under that hash.
const (
	newPageBit = 1
	pageBit    = 2
)

// pageSlot returns the index of a page's hash in a table with that many slots.
func pageSlot(hash uint64, slots int) int { return int(hash >> 2 % uint64(slots)) }

// pageTableSize returns how many pages of each CPU the helper and its caller remember. Pages in the table are
// not sent again. The caller's tables take at most maxTotalBytes on a machine with that many CPUs.
func pageTableSize(cpus int) int {
	const (
		maxTotalBytes = 32 << 20
		maxPages      = 2048
	)
	pages := maxPages
	for pages > 1 && pages*cpus*callchain.PageSize > maxTotalBytes {
		pages /= 2
	}
	return pages
}

// pageTables has the pages that the helper sent last. The helper keeps the same tables, but only their hashes.
type pageTables struct {
	slots int // per CPU
	byCPU map[int][]tablePage
}

// tablePage is a page with the word that the helper sent for it.
type tablePage struct {
	hash uint64
	page *callchain.Page
}

// decode decodes what deepStackReader sent with one reading. Readings of a CPU must be decoded in their order,
// and all of them, or the tables of helper and caller differ. decode reports false if data is malformed or names
// a page that the table does not have. The caller must then send reqResendPages.
func (t *pageTables) decode(cpu int, data []byte) (stacks stackParts, ok bool) {
	if len(data) < wordSize {
		return stacks, len(data) == 0
	}
	data = data[wordSize:] // stacksMark
	table := t.byCPU[cpu]
	if table == nil {
		table = make([]tablePage, t.slots)
		t.byCPU[cpu] = table
	}
	var part *callchain.Stretch // that the next pages belong to
	for len(data) >= wordSize {
		word := binary.LittleEndian.Uint64(data)
		data = data[wordSize:]
		if word&pageBit == 0 {
			if part, data, ok = stacks.startPart(word, data); !ok {
				return stackParts{}, false
			}
			continue
		}
		slot := &table[pageSlot(word, t.slots)]
		switch {
		case part == nil:
			return stackParts{}, false
		case word&newPageBit != 0 && len(data) >= callchain.PageSize:
			page := callchain.Page(data[:callchain.PageSize])
			*slot = tablePage{word, &page}
			data = data[callchain.PageSize:]
		case word&newPageBit != 0 || slot.hash != word|newPageBit:
			return stackParts{}, false
		}
		part.Pages = append(part.Pages, slot.page)
	}
	return stacks, len(data) == 0
}

// stackParts is what one reading has of a thread's stacks, in addition to the sample's copy.
type stackParts struct {
	beyond     callchain.Beyond
	others     []callchain.Stretch
	goroutines []Goroutine
}

// startPart starts a part of the given kind. It returns the Stretch that the next pages belong to, which is nil
// after partGoroutine, and the data after the part's header.
func (s *stackParts) startPart(kind uint64, data []byte) (part *callchain.Stretch, rest []byte, ok bool) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[i*wordSize:]) }
	switch {
	case len(data) < wordSize:
		return nil, nil, false
	case kind == partRemainder:
		part = &s.beyond.Stretch
	case kind == partTop:
		part = &s.beyond.Top
	case kind == partOtherStack && len(s.others) < maxOtherStacks:
		s.others = append(s.others, callchain.Stretch{})
		part = &s.others[len(s.others)-1]
	case kind == partGoroutine && len(s.goroutines) < maxGoroutines && len(data) >= 3*wordSize:
		s.goroutines = append(s.goroutines, Goroutine{word(0), word(1), word(2)})
		return nil, data[3*wordSize:], true
	default:
		return nil, nil, false
	}
	part.From = word(0)
	return part, data[wordSize:], true
}

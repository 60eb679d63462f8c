package atsample

import (
	"hash/maphash"
	"slices"

	"github.com/ringtap/ringtap/callchain"
)

// waitingStacks reads the stacks of waiting threads past the copies in their samples. Equal pages share memory.
// It belongs to the goroutine of offCPUReader.run.
type waitingStacks struct {
	seed     maphash.Seed
	pages    []*callchain.Page // by pageSlot of their hash
	buf      []byte
	switches switchFinder
}

func newWaitingStacks() waitingStacks {
	return waitingStacks{seed: maphash.MakeSeed(), pages: make([]*callchain.Page, pageTableSize(1)), buf: make([]byte, bufPages*callchain.PageSize), switches: newSwitchFinder()}
}

// readOthers adds the stacks that a thread's stack switches to, and their goroutines, to calls.
func (s *waitingStacks) readOthers(memory *timedMemory, config *stackConfig, copied stackCopy, calls *Calls) {
	f := &s.switches
	f.find(memory, config.crossings, config.areas, copied.sp)
	for _, a := range f.stacks {
		calls.Others = append(calls.Others, callchain.Stretch{From: a.start, Pages: s.readPages(memory, a.start, a.end)})
	}
	calls.Goroutines = slices.Clone(f.goroutines)
}

// read returns the thread's stack past its copy, as far as the memory can be read. See deepStackReader.read, which
// reads the same parts in the helper.
func (s *waitingStacks) read(memory *timedMemory, areas []stackArea, copied stackCopy) (b callchain.Beyond) {
	remainder := copied.remainder(areas)
	if remainder.end == 0 {
		return b
	}
	if remainder.deadFrom > 0 || remainder.end-remainder.start >= topFirstSize {
		if pages := s.readPages(memory, remainder.end-topBytes, remainder.end); pages != nil {
			b.Top = callchain.Stretch{From: remainder.end - topBytes, Pages: pages}
		}
	}
	end := min(remainder.end, remainder.start+maxStackRead)
	if remainder.deadFrom > 0 {
		end = min(end, remainder.deadFrom)
	}
	b.Stretch = callchain.Stretch{From: remainder.start, Pages: s.readPages(memory, remainder.start, end)}
	return b
}

// readPages returns the pages of [start, end), up to the first that cannot be read.
func (s *waitingStacks) readPages(memory *timedMemory, start, end uint64) (pages []*callchain.Page) {
	for start < end {
		chunk := s.buf[:min(uint64(len(s.buf)), end-start)]
		if !memory.Read(start, chunk) {
			break
		}
		start += uint64(len(chunk))
		for ; len(chunk) >= callchain.PageSize; chunk = chunk[callchain.PageSize:] {
			pages = append(pages, s.intern((*callchain.Page)(chunk)))
		}
	}
	return pages
}

// intern returns a page with the same bytes that may be kept. The caller reuses the memory of page.
func (s *waitingStacks) intern(page *callchain.Page) *callchain.Page {
	slot := &s.pages[pageSlot(maphash.Bytes(s.seed, page[:]), len(s.pages))]
	if *slot == nil || **slot != *page {
		copied := *page
		*slot = &copied
	}
	return *slot
}

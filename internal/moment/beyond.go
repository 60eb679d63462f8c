package moment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// mostBeyond is how many bytes of a stack are read behind a sample's copy of it: what takes about
// the time of a visit. Where more of it is new than a reading has room for, later ones go on.
const mostBeyond = 1 << 20

// beyondShare is the part of a CPU that may be spent on it, beside what topBytes take.
const beyondShare = 0.05

// Where a stack goes on for muchBeyond, its outermost bytes are read first: most of it may be a variable
// of a function that lies there, as the stack of Ruby's own that each of its threads has. Linux before
// 6.7, and later without transparent huge pages, puts what the loader has allocated into one area with the
// first thread's stack below it: three pages, above two that hold the thread's own data and functions.
const (
	muchBeyond = 256 << 10
	topPages   = 8
	topBytes   = topPages * callchain.PageSize
)

// tablePages is how many pages the helper and its caller know of those of each CPU, so that equal
// ones are handed over once. The caller keeps knownBytes of them at most.
func tablePages(cpus int) int {
	const (
		knownBytes = 32 << 20
		most       = 2048
	)
	pages := most
	for pages > 1 && pages*cpus*callchain.PageSize > knownBytes {
		pages /= 2
	}
	return pages
}

// area is memory in which a stack may lie.
type area struct {
	start, end uint64
	// over is where memory begins that no chain leads through, up to topBytes before the end; 0 where
	// that is not known.
	over uint64
}

// maxAreas bounds those of a process.
const maxAreas = 1 << 14

// stackGap is how far below its area the kernel's record of a thread's first stack may begin: it
// grows when it is used.
const stackGap = 64 << 20

// areas lists the writable memory of a process that is no file's: reading it waits for no other
// device than the swap.
func areas(pid int) (list []area) {
	var host process.Host
	err := host.Areas(pid, func(a *process.Area) bool {
		switch {
		case !a.Writable:
		case len(a.Path) == 0, bytes.HasPrefix(a.Path, []byte("[anon:")): // it may have a name (PR_SET_VMA(2const))
			list = append(list, area{start: a.Start, end: a.End})
		case string(a.Path) == "[stack]":
			below := uint64(0)
			if n := len(list); n > 0 {
				below = list[n-1].end
			}
			list = append(list, area{start: max(below, a.Start-min(a.Start, stackGap)), end: a.End})
		}
		return len(list) < maxAreas
	})
	if err != nil {
		return nil
	}
	slices.SortFunc(list, func(a, b area) int { return cmp.Compare(a.start, b.start) })
	return list
}

// split is areas where one ends, and another one begins, at an address.
func split(areas []area, at uint64) []area {
	i, found := slices.BinarySearchFunc(areas, at, func(a area, at uint64) int { return cmp.Compare(a.start, at) })
	if found || i == 0 || areas[i-1].end <= at || len(areas) >= 2*maxAreas {
		return areas
	}
	areas = slices.Insert(slices.Clone(areas), i, area{start: at, end: areas[i-1].end})
	areas[i-1].end, areas[i-1].over = at, 0
	return areas
}

// over is areas of which one has no chain through what lies between two addresses.
func over(areas []area, from, to uint64) []area {
	i := slices.IndexFunc(areas, func(a area) bool { return a.start <= from && from < a.end })
	if i < 0 || from >= to || to != areas[i].end-topBytes {
		return areas
	}
	areas = slices.Clone(areas)
	areas[i].over = from
	return areas
}

// areaOf returns the area that an address lies in. It returns an empty one if it knows no such area.
func areaOf(areas []area, addr uint64) area {
	low, high := 0, len(areas)
	for low < high {
		if middle := int(uint(low+high) >> 1); areas[middle].end <= addr {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(areas) || areas[low].start > addr {
		return area{}
	}
	return areas[low]
}

// beyond reads stacks behind the samples' copies of them on one CPU. It hands over each page, or a
// hash of it if the caller has it: both keep the same table of the pages that were handed over last.
type beyond struct {
	seed  maphash.Seed
	known []uint64 // hashes, each at its place
	room  []byte
	// across finds the other stacks that a stack leads to, in memory.
	across crossings
	memory interp.Memory
	ration
	// forget says that the caller has other pages.
	forget atomic.Bool
}

const roomPages = 16

func newBeyond(pages int, memory interp.Memory) *beyond {
	return &beyond{seed: maphash.MakeSeed(), known: make([]uint64, pages), across: newCrossings(), memory: memory,
		room: make([]byte, roomPages*callchain.PageSize), ration: newRation(beyondShare)}
}

// behind is what lies behind the copy of a sample's stack, up to the end of its area: nothing for most.
func behind(s *perfevent.Sample, areas []area) area {
	if len(areas) == 0 {
		return area{}
	}
	return copiedOf(s).behind(areas)
}

// keep hands that over, and the other stacks that the thread's leads to, as far as it is possible.
func (b *beyond) keep(visit *near.Visit, w *watched) {
	areas := w.areasOf(visit.Sample)
	a := behind(visit.Sample, areas)
	if !w.deep {
		a = area{}
	}
	crosses := len(w.crossings) > 0 && len(areas) > 0
	if a.end == 0 && !crosses || visit.Left() < wordSize {
		return
	}
	if b.forget.Swap(false) {
		clear(b.known)
	}
	began := time.Now()
	b.earn(began)
	if a.end == 0 && b.left < 0 {
		return
	}
	_ = visit.KeepWord(beyondMark) // there is room
	if crosses && b.left >= 0 {
		b.keepOthers(visit, w, areas)
	}
	top := b.readTop(visit, &a)
	if a.end > 0 && (top == 0 || b.keepPart(visit, partTop, top) && b.keepPages(visit, topBytes)) && b.left >= 0 {
		b.keepStack(visit, &a)
	}
	b.left -= time.Since(began)
}

// keepStack hands over what lies behind the copy.
func (b *beyond) keepStack(visit *near.Visit, a *area) {
	end := min(a.end, a.start+mostBeyond)
	if a.over > 0 {
		end = min(end, a.over)
	}
	if b.keepPart(visit, partBeyond, a.start) {
		b.keepFrom(visit, a.start, end)
	}
}

// keepFrom reads and hands over what lies between two addresses.
func (b *beyond) keepFrom(visit *near.Visit, at, end uint64) {
	for at < end {
		n := min(int(end-at), len(b.room))
		if visit.Read(at, b.room[:n]) != nil || !b.keepPages(visit, n) {
			return
		}
		at += uint64(n)
	}
}

// keepOthers hands over other stacks.
func (b *beyond) keepOthers(visit *near.Visit, w *watched, areas []area) {
	c := &b.across
	c.find(b.memory, w.crossings, areas, copiedOf(visit.Sample).sp)
	for i := range c.goroutines {
		g := &c.goroutines[i]
		if !b.keepPart(visit, partGoroutine, g.Addr) || visit.KeepWord(g.Low) != nil || visit.KeepWord(g.High) != nil {
			return
		}
	}
	for i := range c.stacks {
		if !b.keepPart(visit, partOther, c.stacks[i].start) {
			return
		}
		b.keepFrom(visit, c.stacks[i].start, c.stacks[i].end)
	}
}

// What is handed over are parts. Each begins with a word that says what it is, and an address. Pages follow,
// or the bounds of a goroutine's stack. Words of pages have isPage.
const (
	partBeyond    = 1 << 2 // callchain.Beyond.Stretch
	partTop       = 2 << 2 // callchain.Beyond.Top
	partOther     = 3 << 2 // of Calls.Others
	partGoroutine = 4 << 2
	partWords     = 2
)

// keepPart begins a part. It reports false, and keeps nothing, if there is no room for it and a goroutine's bounds.
func (b *beyond) keepPart(visit *near.Visit, part, addr uint64) bool {
	return visit.Left() >= 2*partWords*wordSize && visit.KeepWord(part) == nil && visit.KeepWord(addr) == nil
}

// readTop reads the outermost bytes of a stack that goes on for long. It returns where they begin; 0
// if they are not read.
func (b *beyond) readTop(visit *near.Visit, a *area) uint64 {
	if a.over == 0 && a.end-a.start < muchBeyond || visit.Left() < partWords*wordSize+topPages*(wordSize+callchain.PageSize) {
		return 0
	}
	if visit.Read(a.end-topBytes, b.room[:topBytes]) != nil {
		return 0
	}
	return a.end - topBytes
}

// keepPages hands over so many bytes that were read. It reports false if not all were.
func (b *beyond) keepPages(visit *near.Visit, n int) bool {
	for from := 0; from+callchain.PageSize <= n; from += callchain.PageSize {
		page := b.room[from : from+callchain.PageSize]
		hash := maphash.Bytes(b.seed, page) | newPage | isPage
		place := &b.known[placeOf(hash, len(b.known))]
		if *place == hash {
			if visit.KeepWord(hash&^newPage) != nil {
				return false
			}
			continue
		}
		if visit.Left() < wordSize+len(page) {
			return false
		}
		_, _ = visit.KeepWord(hash), visit.Keep(page) // there is room
		*place = hash
	}
	return true
}

// isPage is set in a hash, and newPage in one that the page itself comes after.
const (
	newPage = 1
	isPage  = 2
)

// placeOf is the place of a hash in a table of so many pages.
func placeOf(hash uint64, pages int) int { return int(hash >> 2 % uint64(pages)) }

// pages are those that the helper has handed over, by its CPUs.
type pages struct {
	each int // of a CPU
	by   map[int][]knownPage
}

type knownPage struct {
	hash uint64
	page *callchain.Page
}

// take reads what beyond has kept. Each reading must be taken, in the order of the CPU's: it reports
// false if one was not, and then all pages are to be handed over again.
func (p *pages) take(cpu int, data []byte) (s stacks, ok bool) {
	if len(data) < wordSize {
		return s, len(data) == 0
	}
	data = data[wordSize:] // the mark
	known := p.by[cpu]
	if known == nil {
		known = make([]knownPage, p.each)
		p.by[cpu] = known
	}
	var in *callchain.Stretch // the part under way
	for len(data) >= wordSize {
		word := binary.LittleEndian.Uint64(data)
		data = data[wordSize:]
		if word&isPage == 0 {
			if in, data, ok = s.begin(word, data); !ok {
				return stacks{}, false
			}
			continue
		}
		place := &known[placeOf(word, p.each)]
		switch {
		case in == nil:
			return stacks{}, false
		case word&newPage != 0 && len(data) >= callchain.PageSize:
			page := callchain.Page(data[:callchain.PageSize])
			*place = knownPage{word, &page}
			data = data[callchain.PageSize:]
		case word&newPage != 0 || place.hash != word|newPage:
			return stacks{}, false
		}
		in.Pages = append(in.Pages, place.page)
	}
	return s, len(data) == 0
}

// stacks is what was read of a thread's stacks beside the copy.
type stacks struct {
	beyond     callchain.Beyond
	others     []callchain.Stretch
	goroutines []Goroutine
}

// begin begins a part. It returns what the pages that follow are of, and the rest of the data.
func (s *stacks) begin(part uint64, data []byte) (in *callchain.Stretch, rest []byte, ok bool) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[i*wordSize:]) }
	switch {
	case len(data) < wordSize:
		return nil, nil, false
	case part == partBeyond:
		in = &s.beyond.Stretch
	case part == partTop:
		in = &s.beyond.Top
	case part == partOther && len(s.others) < maxOther:
		s.others = append(s.others, callchain.Stretch{})
		in = &s.others[len(s.others)-1]
	case part == partGoroutine && len(s.goroutines) < maxGoroutines && len(data) >= 3*wordSize:
		s.goroutines = append(s.goroutines, Goroutine{word(0), word(1), word(2)})
		return nil, data[3*wordSize:], true
	default:
		return nil, nil, false
	}
	in.From = word(0)
	return in, data[wordSize:], true
}

package moment

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/callchain"
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
		case len(a.Path) == 0:
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
	ration
	// forget says that the caller has other pages.
	forget atomic.Bool
}

const roomPages = 16

func newBeyond(pages int) *beyond {
	return &beyond{seed: maphash.MakeSeed(), known: make([]uint64, pages),
		room: make([]byte, roomPages*callchain.PageSize), ration: newRation(beyondShare)}
}

// behind is what lies behind the copy of a sample's stack, up to the end of its area: nothing for most.
func behind(s *perfevent.Sample, areas []area) area {
	if len(areas) == 0 {
		return area{}
	}
	return copiedOf(s).behind(areas)
}

// keep hands that over, as far as it is possible.
func (b *beyond) keep(visit *near.Visit, areas []area) {
	a := behind(visit.Sample, areas)
	if a.end == 0 || visit.Left() < beyondWords*wordSize {
		return
	}
	if b.forget.Swap(false) {
		clear(b.known)
	}
	top := b.readTop(visit, &a)
	began := time.Now()
	b.earn(began)
	if b.left < 0 && top == 0 {
		return
	}
	for _, word := range [beyondWords]uint64{beyondMark, a.start, top} {
		_ = visit.KeepWord(word) // there is room
	}
	if top > 0 && !b.keepPages(visit, topBytes) {
		return // there was room
	}
	at, end := a.start, min(a.end, a.start+mostBeyond)
	if a.over > 0 {
		end = min(end, a.over)
	}
	for b.left >= 0 && at < end {
		n := min(int(end-at), len(b.room))
		if visit.Read(at, b.room[:n]) != nil || !b.keepPages(visit, n) {
			break
		}
		at += uint64(n)
	}
	b.left -= time.Since(began)
}

// beyondWords are the words before what is kept: a mark, where it begins, and where the pages of its
// end begin, which come first; 0 where it is read in one piece.
const beyondWords = 3

// readTop reads the outermost bytes of a stack that goes on for long. It returns where they begin; 0
// if they are not read.
func (b *beyond) readTop(visit *near.Visit, a *area) uint64 {
	if a.over == 0 && a.end-a.start < muchBeyond || visit.Left() < beyondWords*wordSize+topPages*(wordSize+callchain.PageSize) {
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
		hash := maphash.Bytes(b.seed, page) | newPage
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

// newPage is set in a hash that the page itself comes after.
const newPage = 1

// placeOf is the place of a hash in a table of so many pages.
func placeOf(hash uint64, pages int) int { return int(hash >> 1 % uint64(pages)) }

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
func (p *pages) take(cpu int, data []byte) (b callchain.Beyond, ok bool) {
	if len(data) < beyondWords*wordSize {
		return b, len(data) == 0
	}
	b.From, b.Top.From = binary.LittleEndian.Uint64(data[wordSize:]), binary.LittleEndian.Uint64(data[2*wordSize:])
	data = data[beyondWords*wordSize:]
	known := p.by[cpu]
	if known == nil {
		known = make([]knownPage, p.each)
		p.by[cpu] = known
	}
	for len(data) >= wordSize {
		hash := binary.LittleEndian.Uint64(data)
		data = data[wordSize:]
		place := &known[placeOf(hash, p.each)]
		switch {
		case hash&newPage != 0 && len(data) >= callchain.PageSize:
			page := callchain.Page(data[:callchain.PageSize])
			*place = knownPage{hash, &page}
			data = data[callchain.PageSize:]
		case hash&newPage != 0 || place.hash != hash|newPage:
			return callchain.Beyond{}, false
		}
		if b.Top.From > 0 && len(b.Top.Pages) < topPages {
			b.Top.Pages = append(b.Top.Pages, place.page)
		} else {
			b.Pages = append(b.Pages, place.page)
		}
	}
	return b, len(data) == 0
}

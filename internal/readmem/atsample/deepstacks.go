package atsample

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/perfevent"
)

// maxStackRead is the most bytes of a stack that are read past its copy, which takes about as long as a visit
// may take. If too many of these pages are new to send in one reading, later readings send the rest.
const maxStackRead = 1 << 20

// deepStackShare is the share of one CPU that reading stacks past their copies may use. The
// outermost topBytes of a stack are read even if the budget is used up.
const deepStackShare = 0.05

const bufPages = 16

// deepStackReader reads the stacks of one CPU's samples past their copies. It runs in the helper, on the
// real-time thread of that CPU, and allocates nothing. It sends each page once: both sides remember
// the last pages, so that the reader sends only the hash of a page that the caller still has.
type deepStackReader struct {
	seed       maphash.Seed
	sentHashes []uint64 // by pageSlot; 0: empty
	buf        []byte
	// switches reads memory to find the stacks that a stack switches to.
	switches switchFinder
	memory   interp.Memory
	cpuBudget
	// forgetSent is set if the caller has lost its table: the next read sends all pages again. Receive
	// sets it on another goroutine.
	forgetSent atomic.Bool
}

func newDeepStackReader(pages int, memory interp.Memory) *deepStackReader {
	return &deepStackReader{seed: maphash.MakeSeed(), sentHashes: make([]uint64, pages), switches: newSwitchFinder(), memory: memory,
		buf: make([]byte, bufPages*callchain.PageSize), cpuBudget: newCPUBudget(deepStackShare)}
}

// remainderOf returns the part of the sample's stack past its copy, up to the end of its area. It returns a
// zero stackArea if there is none, as for most samples.
func remainderOf(s *perfevent.Sample, areas []stackArea) stackArea {
	if len(areas) == 0 {
		return stackArea{}
	}
	return copyOf(s).remainder(areas)
}

// read reads the rest of the sample's stack, if w asks for deep stacks, and the stacks that it switches to. It
// sends as much as the visit has room and the budget has time for.
func (d *deepStackReader) read(visit *helper.Visit, w *visitedProcess) {
	areas := w.areasOf(visit.Sample)
	remainder := remainderOf(visit.Sample, areas)
	if !w.isDeep {
		remainder = stackArea{}
	}
	hasSwitches := len(w.crossings) > 0 && len(areas) > 0
	if remainder.end == 0 && !hasSwitches || visit.Left() < wordSize {
		return
	}
	if d.forgetSent.Swap(false) {
		clear(d.sentHashes)
	}
	start := time.Now()
	d.earn(start)
	if remainder.end == 0 && d.remaining < 0 {
		return
	}
	_ = visit.KeepWord(stacksMark) // cannot fail: Left was checked
	if hasSwitches && d.remaining >= 0 {
		d.readOtherStacks(visit, w, areas)
	}
	topStart := d.readTop(visit, &remainder)
	if remainder.end > 0 && (topStart == 0 || d.startPart(visit, partTop, topStart) && d.sendPages(visit, topBytes)) && d.remaining >= 0 {
		d.readRemainder(visit, &remainder)
	}
	d.remaining -= time.Since(start)
}

// readRemainder sends the stack from the end of the copy on, up to maxStackRead bytes or the dead memory.
func (d *deepStackReader) readRemainder(visit *helper.Visit, remainder *stackArea) {
	end := min(remainder.end, remainder.start+maxStackRead)
	if remainder.deadFrom > 0 {
		end = min(end, remainder.deadFrom)
	}
	if d.startPart(visit, partRemainder, remainder.start) {
		d.readRange(visit, remainder.start, end)
	}
}

// readTop reads the outermost topBytes of a large stack into d.buf, and returns their address. It returns 0
// if the stack is not large, if there is no room to send them, or if they cannot be read.
func (d *deepStackReader) readTop(visit *helper.Visit, remainder *stackArea) uint64 {
	if remainder.deadFrom == 0 && remainder.end-remainder.start < topFirstSize || visit.Left() < partHeaderWords*wordSize+topPages*(wordSize+callchain.PageSize) {
		return 0
	}
	if visit.Read(remainder.end-topBytes, d.buf[:topBytes]) != nil {
		return 0
	}
	return remainder.end - topBytes
}

// readOtherStacks finds and sends the stacks that the sample's stack switches to, and their goroutines.
func (d *deepStackReader) readOtherStacks(visit *helper.Visit, w *visitedProcess, areas []stackArea) {
	f := &d.switches
	f.find(d.memory, w.crossings, areas, copyOf(visit.Sample).sp)
	for i := range f.goroutines {
		g := &f.goroutines[i]
		if !d.startPart(visit, partGoroutine, g.Addr) || visit.KeepWord(g.Low) != nil || visit.KeepWord(g.High) != nil {
			return
		}
	}
	for i := range f.stacks {
		if !d.startPart(visit, partOtherStack, f.stacks[i].start) {
			return
		}
		d.readRange(visit, f.stacks[i].start, f.stacks[i].end)
	}
}

// readRange sends the memory in [addr, end), up to the first page that cannot be read.
func (d *deepStackReader) readRange(visit *helper.Visit, addr, end uint64) {
	for addr < end {
		n := min(int(end-addr), len(d.buf))
		if visit.Read(addr, d.buf[:n]) != nil || !d.sendPages(visit, n) {
			return
		}
		addr += uint64(n)
	}
}

// startPart sends the header of a part. It reports false and sends nothing if there is no room for the header
// and a goroutine's bounds.
func (d *deepStackReader) startPart(visit *helper.Visit, part, addr uint64) bool {
	return visit.Left() >= 2*partHeaderWords*wordSize && visit.KeepWord(part) == nil && visit.KeepWord(addr) == nil
}

// sendPages sends the first n bytes of d.buf, in whole pages. It reports false if they do not all fit.
func (d *deepStackReader) sendPages(visit *helper.Visit, n int) bool {
	for off := 0; off+callchain.PageSize <= n; off += callchain.PageSize {
		page := d.buf[off : off+callchain.PageSize]
		hash := maphash.Bytes(d.seed, page) | newPageBit | pageBit
		slot := &d.sentHashes[pageSlot(hash, len(d.sentHashes))]
		if *slot == hash {
			if visit.KeepWord(hash&^newPageBit) != nil {
				return false
			}
			continue
		}
		if visit.Left() < wordSize+len(page) {
			return false
		}
		_, _ = visit.KeepWord(hash), visit.Keep(page) // cannot fail: Left was checked
		*slot = hash
	}
	return true
}

package atsample

import (
	"encoding/binary"
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// Goroutine is the address of a Go program's runtime.g, and the bounds of its stack.
type Goroutine struct{ Addr, Low, High uint64 }

// maxSwitchScan is the most bytes that are searched on each stack, and read of each other stack. Most programs
// have two: the goroutine's stack and the thread's own.
const (
	maxSwitchScan  = 64 << 10
	maxOtherStacks = 4
	maxGoroutines  = 4
)

// switchFinder finds the other stacks that a thread's stack switches to, where Go and C call each other. It
// searches a stack for return addresses into the functions of Go's runtime that switch stacks. A stale return
// address may lead to memory that holds no frames. That costs a read and nothing else, because the unwinder takes
// no frame from such a search.
type switchFinder struct {
	arch          callchain.Arch
	buf           []byte // for one stack
	goroutineHead [16]byte
	stacks        []stackArea // found so far: from the first frame to where reading ends
	goroutines    []Goroutine
}

func newSwitchFinder() switchFinder {
	return switchFinder{arch: callchain.Host(), buf: make([]byte, maxSwitchScan), stacks: make([]stackArea, 0, maxOtherStacks),
		goroutines: make([]Goroutine, 0, maxGoroutines)}
}

// find searches the stack at sp, and each stack that it finds on the way. The results are in f.stacks and
// f.goroutines until the next call. find does not allocate.
func (f *switchFinder) find(memory interp.Memory, crossings []callchain.Crossing, areas []stackArea, sp uint64) {
	f.stacks, f.goroutines = f.stacks[:0], f.goroutines[:0]
	if len(crossings) == 0 {
		return
	}
	origin := stackArea{start: sp &^ (wordSize - 1)}
	origin.end = min(findArea(areas, origin.start).end, origin.start+maxSwitchScan)
	f.scan(memory, crossings, areas, origin, origin)
	for i := 0; i < len(f.stacks); i++ {
		f.scan(memory, crossings, areas, f.stacks[i], origin)
	}
}

// scan searches one stack for return addresses into crossings. origin is the stack that the search started from,
// which is not added again.
func (f *switchFinder) scan(memory interp.Memory, crossings []callchain.Crossing, areas []stackArea, stack, origin stackArea) {
	if stack.end <= stack.start || !memory.Read(stack.start, f.buf[:stack.end-stack.start]) {
		return
	}
	words := f.buf[:stack.end-stack.start]
	for off := wordSize; off+2*wordSize < len(words); off += wordSize {
		word := binary.LittleEndian.Uint64(words[off:])
		for i := range crossings {
			switch c := &crossings[i]; {
			case word-c.Start >= c.End-c.Start:
			case c.IntoGo:
				// The function that the crossing called saved its frame pointer in the word below the return
				// address. It points to the stack that the crossing switched from.
				f.addStack(areas, binary.LittleEndian.Uint64(words[off-wordSize:]), maxSwitchScan, origin)
			default:
				f.addSwitchedFrom(memory, areas, words[off+wordSize:], origin)
			}
		}
	}
}

// addSwitchedFrom adds the goroutine whose stack runtime.asmcgocall left. words are the words above the return
// address into asmcgocall: the distance of the goroutine's stack pointer from the end of its stack, and the
// runtime.g. On arm64 they come in the other order, after the registers that the called function saved.
func (f *switchFinder) addSwitchedFrom(memory interp.Memory, areas []stackArea, words []byte, origin stackArea) {
	if f.arch != callchain.ARM64 {
		f.addGoroutine(memory, areas, binary.LittleEndian.Uint64(words[wordSize:]), binary.LittleEndian.Uint64(words), origin)
		return
	}
	const maxSavedWords = 32 // registers that the called function may save
	for off := 0; off+2*wordSize <= min(len(words), maxSavedWords*wordSize); off += wordSize {
		if f.addGoroutine(memory, areas, binary.LittleEndian.Uint64(words[off:]), binary.LittleEndian.Uint64(words[off+wordSize:]), origin) {
			return
		}
	}
}

// addGoroutine adds the goroutine whose runtime.g is at g, and its stack from depth bytes below its end. It
// reports false if g is not the address of a runtime.g or depth is larger than the stack.
func (f *switchFinder) addGoroutine(memory interp.Memory, areas []stackArea, g, depth uint64, origin stackArea) bool {
	const maxGoroutineStack = 1 << 30 // bytes: runtime.maxstacksize
	if g%wordSize != 0 || depth%wordSize != 0 || depth == 0 || depth > maxGoroutineStack || findArea(areas, g).end == 0 || !memory.Read(g, f.goroutineHead[:]) {
		return false
	}
	low, high := binary.LittleEndian.Uint64(f.goroutineHead[:]), binary.LittleEndian.Uint64(f.goroutineHead[wordSize:])
	if low >= high || depth > high-low {
		return false
	}
	known := slices.ContainsFunc(f.goroutines, func(known Goroutine) bool { return known.Addr == g })
	if !known && len(f.goroutines) < maxGoroutines {
		f.goroutines = append(f.goroutines, Goroutine{g, low, high})
	}
	f.addStack(areas, high-depth, depth, origin)
	return true
}

// addStack adds size bytes of the stack from address start on, unless a known stack contains start.
func (f *switchFinder) addStack(areas []stackArea, start, size uint64, origin stackArea) {
	area := findArea(areas, start)
	if area.end == 0 || start-origin.start < origin.end-origin.start || len(f.stacks) == maxOtherStacks {
		return
	}
	for i := range f.stacks {
		if s := &f.stacks[i]; start-s.start < s.end-s.start {
			return
		}
	}
	// Only whole pages are sent. On arm64 the frame record lies one word below the frame's address.
	start = max(area.start, (start-wordSize)&^(callchain.PageSize-1))
	end := (start + size + 2*callchain.PageSize - 1) &^ (callchain.PageSize - 1)
	f.stacks = append(f.stacks, stackArea{start: start, end: min(area.end, end, start+maxSwitchScan)})
}

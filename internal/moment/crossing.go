package moment

import (
	"encoding/binary"
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// Goroutine is a runtime.g of a Go program, and the bounds of its stack.
type Goroutine struct{ Addr, Low, High uint64 }

// Bounds of what is read of the stacks that a thread's stack leads to, in bytes: what lies on its own stack,
// and on each other one. There are two in most programs: that of the goroutine, and that of the thread.
const (
	crossingCopy  = 64 << 10
	maxOther      = 4
	maxGoroutines = 4
)

// crossings finds the other stacks that a thread's stack leads to, by the return addresses of the functions
// that go on on another stack. An old return address may lead to memory that no chain leads through, which
// does no harm: what is read is only there to be unwound.
type crossings struct {
	arch       callchain.Arch
	room       []byte // a stack
	g          [16]byte
	stacks     []area // from where the stack goes on to where reading ends
	goroutines []Goroutine
}

func newCrossings() crossings {
	return crossings{arch: callchain.Host(), room: make([]byte, crossingCopy), stacks: make([]area, 0, maxOther),
		goroutines: make([]Goroutine, 0, maxGoroutines)}
}

// find finds them from a stack pointer on. It does not allocate.
func (c *crossings) find(memory interp.Memory, sites []callchain.Crossing, areas []area, sp uint64) {
	c.stacks, c.goroutines = c.stacks[:0], c.goroutines[:0]
	if len(sites) == 0 {
		return
	}
	first := area{start: sp &^ (wordSize - 1)}
	first.end = min(areaOf(areas, first.start).end, first.start+crossingCopy)
	c.scan(memory, sites, areas, first, first)
	for i := 0; i < len(c.stacks); i++ {
		c.scan(memory, sites, areas, c.stacks[i], first)
	}
}

// scan looks for return addresses on a stack. What leads to the first stack is known already.
func (c *crossings) scan(memory interp.Memory, sites []callchain.Crossing, areas []area, stack, first area) {
	if stack.end <= stack.start || !memory.Read(stack.start, c.room[:stack.end-stack.start]) {
		return
	}
	words := c.room[:stack.end-stack.start]
	for off := wordSize; off+2*wordSize < len(words); off += wordSize {
		word := binary.LittleEndian.Uint64(words[off:])
		for i := range sites {
			switch s := &sites[i]; {
			case word-s.Start >= s.End-s.Start:
			case s.IntoGo:
				// What it has called saved its frame pointer below. That is on the stack it came from.
				c.add(areas, binary.LittleEndian.Uint64(words[off-wordSize:]), crossingCopy, first)
			default:
				c.goroutine(memory, areas, words[off+wordSize:], first)
			}
		}
	}
}

// goroutine adds the stack of the goroutine that runtime.asmcgocall has left. The words above its return
// address have the goroutine, and how far from the end of its stack it was. On arm64 the words that the
// called function saves lie in between.
func (c *crossings) goroutine(memory interp.Memory, areas []area, words []byte, first area) {
	if c.arch != callchain.ARM64 {
		c.left(memory, areas, binary.LittleEndian.Uint64(words[wordSize:]), binary.LittleEndian.Uint64(words), first)
		return
	}
	const most = 32 // words that a function saves
	for off := 0; off+2*wordSize <= min(len(words), most*wordSize); off += wordSize {
		if c.left(memory, areas, binary.LittleEndian.Uint64(words[off:]), binary.LittleEndian.Uint64(words[off+wordSize:]), first) {
			return
		}
	}
}

// left is goroutine for a runtime.g, and the bytes up to the end of its stack. It reports false if there can
// be no such goroutine.
func (c *crossings) left(memory interp.Memory, areas []area, g, depth uint64, first area) bool {
	const most = 1 << 30 // bytes that a goroutine's stack may have (runtime.maxstacksize)
	if g%wordSize != 0 || depth%wordSize != 0 || depth == 0 || depth > most || areaOf(areas, g).end == 0 || !memory.Read(g, c.g[:]) {
		return false
	}
	low, high := binary.LittleEndian.Uint64(c.g[:]), binary.LittleEndian.Uint64(c.g[wordSize:])
	if low >= high || depth > high-low {
		return false
	}
	known := slices.ContainsFunc(c.goroutines, func(known Goroutine) bool { return known.Addr == g })
	if !known && len(c.goroutines) < maxGoroutines {
		c.goroutines = append(c.goroutines, Goroutine{g, low, high})
	}
	c.add(areas, high-depth, depth, first)
	return true
}

// add adds a stack, from an address on, if that is not known.
func (c *crossings) add(areas []area, from, size uint64, first area) {
	in := areaOf(areas, from)
	if in.end == 0 || from-first.start < first.end-first.start || len(c.stacks) == maxOther {
		return
	}
	for i := range c.stacks {
		if s := &c.stacks[i]; from-s.start < s.end-s.start {
			return
		}
	}
	// Pages are handed over. On arm64 the record begins below the frame.
	from = max(in.start, (from-wordSize)&^(callchain.PageSize-1))
	end := (from + size + 2*callchain.PageSize - 1) &^ (callchain.PageSize - 1)
	c.stacks = append(c.stacks, area{start: from, end: min(in.end, end, from+crossingCopy)})
}

package stack

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// memo finds the chains of stacks that were seen before, without unwinding them again. A probe that
// is hit a million times a second is hit from few places. Two copies of a stack have the same chain
// if they agree in the words that the unwinder has read. Other words, such as counters and buffers,
// may differ.
//
// memo keeps recent chains in a table of fixed size.
type memo struct {
	arch   callchain.Arch
	places []chain
	turn   int     // place in a group that is replaced next
	group  []chain // group of the last find; nil if its chain can't be kept
}

// chain is a stack whose chain is known. Only stacks that are callchain.Unwinder.Repeatable are
// here.
type chain struct {
	version    uint64 // of the process's mappings; 0: empty
	unwind     Unwind // how the stack was unwound
	entry      bool   // the sample is at a function's first instruction
	abi        uint64 // register ABI of the sample
	pc, sp, fp uint64
	length     int // of the copy
	words      []word
	id         callchain.StackID
	end        callchain.End
	reach      uint64 // see User
}

// word is the value at an offset of the copy.
type word struct {
	at    uint32
	value uint64
}

const (
	memoPlaces = 4096
	// memoGroup is how many chains are kept that start at the same code address with the same stack
	// and frame pointer.
	memoGroup = 8
	// memoWords is how many words a chain may have. Chains with more are not kept.
	memoWords = 128
)

func newMemo(arch callchain.Arch) *memo { return &memo{arch: arch, places: make([]chain, memoPlaces)} }

// find returns the known chain of a sample, or nil. stacks says how the sample is unwound. After
// nil, keep stores the chain.
func (m *memo) find(stacks *Stacks, p *process.Process, sample *perfevent.Sample) *chain {
	m.group = nil
	pc, sp, fp, ok := m.arch.Frame(sample.Regs.Mask, sample.Regs.Values)
	if !ok || walksUser(sample.Callchain) {
		return nil
	}
	version := p.Version()
	hash := (pc ^ sp<<17 ^ fp<<31 ^ version<<7) * 0x9e3779b97f4a7c15
	m.group = m.places[hash>>32%(memoPlaces/memoGroup)*memoGroup:][:memoGroup]
	for i := range m.group {
		c := &m.group[i]
		if c.version == version && c.pc == pc && c.sp == sp && c.fp == fp && c.length == len(sample.Stack) &&
			c.unwind == stacks.Unwind && c.entry == stacks.Entry && c.abi == sample.Regs.ABI && c.holds(m.arch, sample.Stack) {
			return c
		}
	}
	return nil
}

// walksUser reports whether a callchain has user frames.
func walksUser(chain []uint64) bool {
	if len(chain) == 0 {
		return false
	}
	_, user := callchain.Split(chain)
	return len(user) > 0
}

// holds reports whether a copy of a stack has all words of the chain. It must be as long as the
// chain's copy.
func (c *chain) holds(host callchain.Arch, stack []byte) bool {
	for _, w := range c.words {
		if wordAt(host, c.abi, stack[w.at:]) != w.value {
			return false
		}
	}
	return true
}

// wordAt returns the first word of stack, with the word size of the program's ABI.
func wordAt(host callchain.Arch, abi uint64, stack []byte) uint64 {
	if machine(host, abi).WordSize() == 4 {
		return uint64(binary.LittleEndian.Uint32(stack))
	}
	return binary.LittleEndian.Uint64(stack)
}

// keep stores the chain of the sample that find did not find. reads are the offsets of the words
// that the chain depends on.
func (m *memo) keep(stacks *Stacks, p *process.Process, sample *perfevent.Sample, reads []uint32, user User) {
	if m.group == nil || len(reads) > memoWords {
		return
	}
	m.turn = (m.turn + 1) % memoGroup
	c := &m.group[m.turn]
	words := c.words[:0]
	for _, at := range reads {
		words = append(words, word{at, wordAt(m.arch, sample.Regs.ABI, sample.Stack[at:])})
	}
	*c = chain{version: p.Version(), unwind: stacks.Unwind, entry: stacks.Entry, abi: sample.Regs.ABI, length: len(sample.Stack), words: words,
		id: user.ID, end: user.End, reach: user.reach}
	c.pc, c.sp, c.fp, _ = m.arch.Frame(sample.Regs.Mask, sample.Regs.Values)
}

// forget forgets all chains, because their stack IDs are not valid any more.
func (m *memo) forget() {
	for i := range m.places {
		m.places[i].version = 0
	}
}

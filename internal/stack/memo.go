package stack

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// memo finds the chains of stacks that have been seen before without unwinding them
// again: a probe that is hit a million times a second is hit from few places. Two
// copies of a stack have the same chain if the words are the same that the unwinder
// has read of the first; what else is there, counters and buffers, may differ.
//
// It keeps what it is asked for last in a table of fixed size.
type memo struct {
	arch   callchain.Arch
	places []chain
	turn   int     // of the places of a group, to be the next that is replaced
	group  []chain // where the stack of the last find belongs; nil if it can't be kept
}

// chain is a stack whose chain is known: see callchain.Unwinder.Repeatable.
type chain struct {
	version    uint64 // of the process's mappings; 0: holds nothing
	unwind     Unwind // how it was found
	entry      bool   // at a function's first instruction
	abi        uint64 // whose registers the sample has
	pc, sp, fp uint64
	length     int // of the copy
	words      []word
	id         callchain.StackID
	end        callchain.End
	reach      uint64 // of User
}

// word is what lies at an offset of the copy.
type word struct {
	at    uint32
	value uint64
}

const (
	memoPlaces = 4096
	// memoGroup is how many chains are told apart that begin in one place of the
	// code with one stack pointer.
	memoGroup = 8
	// memoWords is how many words a chain may take; a longer one is not kept.
	memoWords = 128
)

func newMemo(arch callchain.Arch) *memo { return &memo{arch: arch, places: make([]chain, memoPlaces)} }

// find returns the known chain of a sample that is to be unwound so, nil if there is none; keep then
// remembers it.
func (m *memo) find(by *Stacks, p *process.Process, sample *perfevent.Sample) *chain {
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
			c.unwind == by.Unwind && c.entry == by.Entry && c.abi == sample.Regs.ABI && c.holds(m.arch, sample.Stack) {
			return c
		}
	}
	return nil
}

// walksUser says that a callchain has a part of user mode.
func walksUser(chain []uint64) bool {
	if len(chain) == 0 {
		return false
	}
	_, user := callchain.Split(chain)
	return len(user) > 0
}

// holds says that a copy of the stack, which is as long as the chain's, has its words.
func (c *chain) holds(host callchain.Arch, stack []byte) bool {
	for _, w := range c.words {
		if wordAt(host, c.abi, stack[w.at:]) != w.value {
			return false
		}
	}
	return true
}

// wordAt is the word that the stack of a program of an ABI has there.
func wordAt(host callchain.Arch, abi uint64, stack []byte) uint64 {
	if machine(host, abi).WordSize() == 4 {
		return uint64(binary.LittleEndian.Uint32(stack))
	}
	return binary.LittleEndian.Uint64(stack)
}

// keep remembers the chain of the sample that find did not find, and the places of
// the words that it follows from.
func (m *memo) keep(by *Stacks, p *process.Process, sample *perfevent.Sample, reads []uint32, user User) {
	if m.group == nil || len(reads) > memoWords {
		return
	}
	m.turn = (m.turn + 1) % memoGroup
	c := &m.group[m.turn]
	words := c.words[:0]
	for _, at := range reads {
		words = append(words, word{at, wordAt(m.arch, sample.Regs.ABI, sample.Stack[at:])})
	}
	*c = chain{version: p.Version(), unwind: by.Unwind, entry: by.Entry, abi: sample.Regs.ABI, length: len(sample.Stack), words: words,
		id: user.ID, end: user.End, reach: user.reach}
	c.pc, c.sp, c.fp, _ = m.arch.Frame(sample.Regs.Mask, sample.Regs.Values)
}

// forget forgets all chains, whose ids mean nothing any more.
func (m *memo) forget() {
	for i := range m.places {
		m.places[i].version = 0
	}
}

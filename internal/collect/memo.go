package collect

import (
	"bytes"
	"hash/maphash"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// memo finds the chains of stacks that have been seen before, byte for byte,
// without unwinding them again: a probe that is hit a million times a second is
// hit from few places, and of half a million copies of 512 bytes a few hundred
// were distinct.
//
// It keeps what it is asked for last in a table of fixed size. Large copies
// hardly ever repeat and are not kept.
type memo struct {
	seed   maphash.Seed
	places []chain
	found  *chain // by the last find: where its stack belongs
}

// chain is a stack whose chain is known: see callchain.Unwinder.Repeatable.
type chain struct {
	version    uint64 // of the process's mappings; 0: holds nothing
	pc, sp, fp uint64
	stack      []byte
	id         callchain.StackID
	end        callchain.End
}

const (
	memoPlaces = 2048
	// memoBytes is the largest copy that is kept.
	memoBytes = 2048
)

func newMemo() *memo {
	return &memo{seed: maphash.MakeSeed(), places: make([]chain, memoPlaces)}
}

// find returns the known chain of a sample, nil if there is none; keep then
// remembers it.
func (m *memo) find(p *process.Process, sample *perfevent.Sample) *chain {
	m.found = nil
	pc, sp, fp, ok := callchain.Host().Frame(sample.Regs.Mask, sample.Regs.Values)
	if !ok || len(sample.Stack) > memoBytes || len(sample.Callchain) > 0 {
		return nil
	}
	version := p.Version()
	hash := maphash.Bytes(m.seed, sample.Stack) ^ (pc^sp<<17^fp<<31^version<<7)*0x9e3779b97f4a7c15
	m.found = &m.places[hash>>32%memoPlaces]
	c := m.found
	if c.version == version && c.pc == pc && c.sp == sp && c.fp == fp && bytes.Equal(c.stack, sample.Stack) {
		return c
	}
	*c = chain{pc: pc, sp: sp, fp: fp, stack: c.stack}
	return nil
}

// keep remembers the chain of the sample that find did not find.
func (m *memo) keep(p *process.Process, sample *perfevent.Sample, id callchain.StackID, end callchain.End) {
	if c := m.found; c != nil {
		c.version, c.id, c.end = p.Version(), id, end
		c.stack = append(c.stack[:0], sample.Stack...)
	}
}

// forget forgets all chains, whose ids mean nothing any more.
func (m *memo) forget() {
	for i := range m.places {
		m.places[i].version = 0
	}
}

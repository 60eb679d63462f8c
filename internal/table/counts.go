package table

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/moment"
)

// Counts is the bookkeeping of a window or a run. Samples + LeftOut is what the
// session has handed on.
type Counts struct {
	Samples   uint64 // that were added up
	LeftOut   uint64 // samples that were not: ringtap's own, the idle task's, late ones
	Stacked   uint64 // of these, samples that carry a user stack
	Urgent    uint64 // of these, samples of Plan.Urgent
	Stacks    uint64 // samples whose user stack was asked for
	Truncated uint64 // samples whose user stack was cut short
	Joined    uint64 // of these, samples that were joined to the only whole stack that begins like theirs
	Early     uint64 // of the others, samples that came before the stacks of their process were read beyond the copies
	Broken    uint64 // samples whose user stack ends before its outermost function
	Unmapped  uint64 // samples without a user stack: they are at addresses in no known mapping of their process
	Foreign   uint64 // samples of 32-bit programs whose stacks are not unwound here
	Unkept    uint64 // samples counted on one row, for want of memory
	Lost      uint64 // records that did not fit in a ring, where the kernel said so

	moment.Tally
}

// Add adds the counts of another window.
func (c *Counts) Add(other Counts) {
	c.Samples += other.Samples
	c.LeftOut += other.LeftOut
	c.Stacked += other.Stacked
	c.Urgent += other.Urgent
	c.Stacks += other.Stacks
	c.Truncated += other.Truncated
	c.Joined += other.Joined
	c.Early += other.Early
	c.Broken += other.Broken
	c.Unmapped += other.Unmapped
	c.Foreign += other.Foreign
	c.Unkept += other.Unkept
	c.Lost += other.Lost
	c.Tally.Add(other.Tally)
}

// stack enters how a user stack ended.
func (c *Counts) stack(end callchain.End) {
	c.Stacks++
	switch end {
	case callchain.Cut:
		c.Truncated++
	case callchain.Lost:
		c.Broken++
	}
}

// join counts n stacks that were joined to whole ones. If broken is set, they were counted as broken before.
func (c *Counts) join(broken bool, n uint64) {
	if broken {
		c.Broken -= n
		c.Truncated += n
	}
	c.Joined += n
}

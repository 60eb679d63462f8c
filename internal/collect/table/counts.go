package table

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
)

// Counts counts the samples of a window or a run. Samples + LeftOut is the number that the session
// delivered.
type Counts struct {
	Samples   uint64 // counted in rows
	LeftOut   uint64 // not counted in rows: ringtap's own, the idle task's, late ones
	Stacked   uint64 // of Samples: with a user stack
	Urgent    uint64 // of Stacked: of Plan.Urgent
	Stacks    uint64 // samples whose user stack the collector asked for
	Truncated uint64 // of Stacks: cut short
	Joined    uint64 // of Truncated: replaced by the only whole stack that starts like theirs
	Early     uint64 // of Truncated, not Joined: taken before ringtap read stacks of their process beyond the copies
	Broken    uint64 // of Stacks: ended before the outermost function
	Unmapped  uint64 // no user stack, because the address is in no known mapping of the process
	Foreign   uint64 // samples of 32-bit programs whose stacks ringtap does not unwind
	Unkept    uint64 // counted on one common row, because memory was full
	Lost      uint64 // records that did not fit in a ring, as far as the kernel reported them

	atsample.CertaintyCounts
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
	c.CertaintyCounts.Add(other.CertaintyCounts)
}

// stack counts how a user stack ended.
func (c *Counts) stack(end callchain.End) {
	c.Stacks++
	switch end {
	case callchain.Cut:
		c.Truncated++
	case callchain.Lost:
		c.Broken++
	}
}

// join counts n stacks that were replaced by whole ones. broken says that they were counted as
// broken before.
func (c *Counts) join(broken bool, n uint64) {
	if broken {
		c.Broken -= n
		c.Truncated += n
	}
	c.Joined += n
}

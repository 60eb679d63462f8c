package atsample

import (
	"fmt"

	"github.com/ringtap/ringtap/internal/readmem/helper"
)

// Late is the label that becomes the leaf of a stack if its interpreted functions were read after its thread may
// have run on.
const Late = "[interpreted functions read late]"

// CertaintyCounts counts samples of processes with an interpreter by how certain their calls are.
type CertaintyCounts struct {
	Exact  uint64 // read while the thread stood still
	Near   uint64 // read when the thread may have run on
	Native uint64 // not read: the stack shows native frames only
}

// Count counts a sample.
func (c *CertaintyCounts) Count(kind helper.Certainty) {
	switch kind {
	case helper.Exact:
		c.Exact++
	case helper.Near:
		c.Near++
	default:
		c.Native++
	}
}

// Add adds other to c.
func (c *CertaintyCounts) Add(other CertaintyCounts) {
	c.Exact += other.Exact
	c.Near += other.Near
	c.Native += other.Native
}

// Notes returns notes for the report: how many of the counted samples have exact calls, and why some have none.
func (r *Reader) Notes(counts CertaintyCounts) (notes []string) {
	if total := counts.Exact + counts.Near + counts.Native; total > 0 {
		share := func(n uint64) float64 { return 100 * float64(n) / float64(total) }
		note := fmt.Sprintf("interpreted frames: %.1f%% exact, %.1f%% near, %.1f%% none (%d samples)", share(counts.Exact), share(counts.Near), share(counts.Native), total)
		if counts.Near > 0 {
			note += fmt.Sprintf("; near: the thread may have run on before they were read, %s stands on them", Late)
		}
		if counts.Native > 0 && r.offCPU != nil {
			note += fmt.Sprintf("; none: most waits shorter than %v are over before they are read", PollInterval)
		}
		if class, ok := r.schedClass(); ok && class != helper.FIFO {
			note += fmt.Sprintf("; the reader is %s", class)
		}
		if n := r.maxWakeupEvery.Load(); n > 0 && counts.Native > 0 {
			note += fmt.Sprintf("; none: the hits came too fast to read the functions of all, and those of one in %d were read, or more", n)
		}
		notes = append(notes, note)
	}
	if err := r.err(); err != nil {
		notes = append(notes, fmt.Sprintf("functions of interpreted code, and callers in deep stacks, are missing: %v", err))
	}
	return notes
}

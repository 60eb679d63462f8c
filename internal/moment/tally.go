package moment

import (
	"fmt"

	"github.com/ringtap/ringtap/perfevent/near"
)

// Late is the label that a stack has as its leaf whose interpreted functions were read when the
// thread may have run on.
const Late = "[interpreted functions read late]"

// Tally counts samples of processes with an interpreter by how their calls are known.
type Tally struct {
	Exact  uint64 // those of the moment
	Near   uint64 // read late
	Native uint64 // not known
}

// Count counts a sample.
func (t *Tally) Count(kind near.Kind) {
	switch kind {
	case near.Exact:
		t.Exact++
	case near.Near:
		t.Near++
	default:
		t.Native++
	}
}

// Add adds the counts of another Tally.
func (t *Tally) Add(other Tally) {
	t.Exact += other.Exact
	t.Near += other.Near
	t.Native += other.Native
}

// Notes says how the calls of samples are known that were counted, and why some are not.
func (r *Reader) Notes(t Tally) (notes []string) {
	if all := t.Exact + t.Near + t.Native; all > 0 {
		share := func(n uint64) float64 { return 100 * float64(n) / float64(all) }
		note := fmt.Sprintf("interpreted frames: %.1f%% exact, %.1f%% near, %.1f%% none (%d samples)", share(t.Exact), share(t.Near), share(t.Native), all)
		if t.Near > 0 {
			note += fmt.Sprintf("; near: the thread may have run on before they were read, %s stands on them", Late)
		}
		if t.Native > 0 && r.leisure != nil {
			note += fmt.Sprintf("; none: most waits shorter than %v are over before they are read", LookEvery)
		}
		if rung, ok := r.Rung(); ok && rung != near.FIFO {
			note += fmt.Sprintf("; the reader is %s", rung)
		}
		if n := r.thinned.Load(); n > 0 && t.Native > 0 {
			note += fmt.Sprintf("; none: the hits came too fast to read the functions of all, and those of one in %d were read, or more", n)
		}
		notes = append(notes, note)
	}
	if err := r.Err(); err != nil {
		notes = append(notes, fmt.Sprintf("functions of interpreted code, and callers in deep stacks, are missing: %v", err))
	}
	return notes
}

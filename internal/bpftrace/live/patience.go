package live

import "time"

// When a run ends, hits still wait in the rings: millions of them in a storm. All are handled
// until Patience has passed. Then they are handled until assured of them are done or longest
// has passed, because a clause may start a program at each hit.
const (
	Patience = 600 * time.Millisecond
	assured  = 60_000
	longest  = 10 * time.Second
)

// isLate counts a hit, and reports whether it waited too long after the end of the run.
func (f *feed) isLate() bool {
	since, ended := f.engine.Ending()
	if !ended {
		return false
	}
	f.waiting++
	return isLeftOut(since, f.waiting)
}

// isLeftOut reports whether to leave out a hit, the n-th one that is handled after the end of the
// run. since is the time since the end.
func isLeftOut(since time.Duration, n int) bool {
	return since > longest || since > Patience && n > assured
}

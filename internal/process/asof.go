package process

import "time"

// life is a former life of a pid.
type life struct {
	process *Process
	until   uint64 // CLOCK_MONOTONIC, ns: when the next one began
}

// AsOf has Process return what pids stood for at a time, as far back as
// Options.Keep, instead of what they stand for; with 0 it is the present again.
// The mappings are those at the end of a life, or now.
func (t *Table) AsOf(at uint64) { t.asOf = at }

// former returns the process that had a pid at the time asked for, nil if it is
// the one of the present.
func (t *Table) former(pid int) *Process {
	for _, l := range t.lives[pid] {
		if t.asOf < l.until {
			return l.process
		}
	}
	return nil
}

// replaced notes that a pid begins another life.
func (t *Table) replaced(p *Process, at uint64) {
	if t.options.Keep == 0 || p == nil {
		return
	}
	if t.lives == nil {
		t.lives = make(map[int][]life)
	}
	keep := uint64(t.options.Keep)
	if at > t.livesSwept+max(keep, uint64(time.Second)) {
		t.livesSwept = at
		t.forgetLives(at - min(at, keep))
	}
	t.lives[p.PID] = append(t.lives[p.PID], life{p, at})
}

// forgetLives forgets the lives that were over before a time.
func (t *Table) forgetLives(before uint64) {
	for pid, lives := range t.lives {
		for len(lives) > 0 && lives[0].until < before {
			lives = lives[1:]
		}
		if len(lives) == 0 {
			delete(t.lives, pid)
		} else {
			t.lives[pid] = lives
		}
	}
}

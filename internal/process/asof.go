package process

import "time"

// life is a former process of a pid.
type life struct {
	process *Process
	until   uint64 // CLOCK_MONOTONIC, ns: when the next life began
}

// AsOf makes Process return the process that a PID stood for at the time when, as far back as
// Options.Keep. With 0 it returns the current ones again. A former process has the mappings it
// had at its end.
func (t *Table) AsOf(when uint64) { t.asOf = when }

// former returns the process that had a pid at the time t.asOf, or nil if it is the current
// one.
func (t *Table) former(pid int) *Process {
	for _, l := range t.lives[pid] {
		if t.asOf < l.until {
			return l.process
		}
	}
	return nil
}

// replaced records that p ends at now: its PID stands for another process or program.
func (t *Table) replaced(p *Process, now uint64) {
	if t.options.Keep == 0 || p == nil {
		return
	}
	if t.lives == nil {
		t.lives = make(map[int][]life)
	}
	keep := uint64(t.options.Keep)
	if now > t.livesSwept+max(keep, uint64(time.Second)) {
		t.livesSwept = now
		t.forgetLives(now - min(now, keep))
	}
	t.lives[p.PID] = append(t.lives[p.PID], life{p, now})
}

// forgetLives forgets the lives that ended before a time.
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

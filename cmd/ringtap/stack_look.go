package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/snapshot"
)

// stackLooks are looks at the same processes.
type stackLooks struct {
	*stackFlags
	out   *console
	taker *snapshot.Taker
	pids  []int        // that had not ended at the last look, and those that began since
	asked map[int]bool // of these, by their numbers
	still map[int]snapshot.Still
	told  map[string]bool // notes
}

// run looks once, or again and again until all have ended.
func (l *stackLooks) run(ctx context.Context) error {
	for n := 1; ; n++ {
		snapshots, err := l.look(ctx)
		if ctx.Err() != nil && l.watch > 0 {
			return nil // that is how watching ends
		}
		if len(snapshots) > 0 {
			if err := l.write(n, snapshots); err != nil {
				return err
			}
		}
		if l.watch == 0 || len(l.pids) == 0 {
			return err
		}
		if err != nil {
			l.note(err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Duration(l.watch)):
			l.begun()
		}
	}
}

// begun adds the processes that the arguments name by now.
func (l *stackLooks) begun() {
	pids, _, err := l.processes()
	if err != nil {
		return // none is left, as the next look finds
	}
	for _, pid := range pids {
		if _, seen := l.still[pid]; !seen && !slices.Contains(l.pids, pid) {
			l.pids = append(l.pids, pid)
		}
	}
}

// look looks at each process. That one has ended is an error only if it was asked for
// by its number, or as the only one, and never seen.
func (l *stackLooks) look(ctx context.Context) (snapshots []*snapshot.Snapshot, err error) {
	var alive []int
	for _, pid := range l.pids {
		s, takeErr := l.taker.Take(ctx, pid)
		_, seen := l.still[pid]
		var gone *snapshot.GoneError
		switch {
		case takeErr == nil:
			snapshots = append(snapshots, s)
			l.still[pid] = s.Since(l.still[pid])
			if !s.Ended() {
				alive = append(alive, pid)
			}
		case errors.As(takeErr, &gone) && seen:
			l.note(fmt.Sprintf("process %d has ended", pid))
		case errors.As(takeErr, &gone) && !l.asked[pid] && len(l.pids)+len(l.still) > 1:
		default:
			err = errors.Join(err, takeErr)
		}
		if ctx.Err() != nil {
			break
		}
	}
	l.pids = alive
	return snapshots, err
}

// note says something on standard error, once.
func (l *stackLooks) note(text string) {
	if !l.told[text] {
		l.told[text] = true
		fmt.Fprintf(l.out.stderr, "note: %s\n", escape.Text(text))
	}
}

// write writes what look n has found.
func (l *stackLooks) write(n int, snapshots []*snapshot.Snapshot) error {
	circles := snapshot.Deadlocks(snapshots)
	w := bufio.NewWriter(l.out.stdout)
	if l.json {
		encoder := json.NewEncoder(w)
		for _, s := range snapshots {
			if err := encoder.Encode(jsonSnapshotOf(s, l.still[s.PID], circles)); err != nil {
				return err
			}
		}
	} else {
		if n > 1 {
			fmt.Fprintf(w, "\nlook %d, %s\n\n", n, time.Now().Format(time.RFC3339))
		}
		writeDeadlocks(w, circles)
		for i, s := range snapshots {
			if i > 0 {
				fmt.Fprintln(w)
			}
			stackText{w, s, l.still[s.PID], l.all}.write()
		}
	}
	for _, s := range snapshots {
		for _, text := range s.Notes {
			l.note(text)
		}
	}
	return w.Flush()
}

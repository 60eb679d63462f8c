// Package look shows what the threads of processes wait for and the stacks that led there,
// at one look or many, as text for people or as JSON.
//
//	target.Search → processes → snapshot.Taker → Snapshots ─┬→ text: deadlocks, locks, goroutines, threads
//	     ↑ each look                                        └→ JSON, an object for each process
package look

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/snapshot"
	"github.com/ringtap/ringtap/internal/target"
)

// Options say what is looked at, and how it is written.
type Options struct {
	Search target.Search // is asked anew before each look
	// Threads is how their threads are looked at.
	Threads snapshot.Options
	Every   time.Duration // how often; 0: once
	All     bool          // each thread by itself
	JSON    bool          // an object a line for each process
	Out     io.Writer
	Width   int               // columns of a terminal that Out is, 0 if it is none
	Note    func(text string) // is told what is missing, and why
}

// Run looks at processes once, or again and again until all have ended or the context is
// done. Of those that have not moved since the look before it writes no stacks. That one
// has ended is an error, a *snapshot.GoneError, only if it was named by its number, or as
// the only one.
func Run(ctx context.Context, o Options) error {
	for _, note := range o.Search.Owners(process.Host{}) {
		o.Note(note)
	}
	pids, asked, err := o.Search.Find(process.Host{})
	if err != nil {
		return err
	}
	taker := snapshot.New(o.Threads)
	defer taker.Close()
	l := looks{Options: o, take: taker.Take, pids: pids, asked: asked, still: make(map[int]snapshot.Still), told: make(map[string]bool)}
	return l.run(ctx)
}

// looks are looks at the same processes.
type looks struct {
	Options
	take  func(ctx context.Context, pid int) (*snapshot.Snapshot, error)
	pids  []int        // that had not ended at the last look, and those that began since
	asked map[int]bool // of these, by their numbers
	still map[int]snapshot.Still
	told  map[string]bool // notes
}

// run looks once, or again and again until all have ended.
func (l *looks) run(ctx context.Context) error {
	for n := 1; ; n++ {
		snapshots, err := l.look(ctx)
		if ctx.Err() != nil && l.Every > 0 {
			return nil // that is how watching ends
		}
		if len(snapshots) > 0 {
			if err := l.write(n, snapshots); err != nil {
				return err
			}
		}
		if l.Every == 0 || len(l.pids) == 0 {
			return err
		}
		if err != nil {
			l.note(err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(l.Every):
			l.begun()
		}
	}
}

// begun adds the processes that are named by now.
func (l *looks) begun() {
	pids, _, err := l.Search.Find(process.Host{})
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
func (l *looks) look(ctx context.Context) (snapshots []*snapshot.Snapshot, err error) {
	var alive []int
	for _, pid := range l.pids {
		s, takeErr := l.take(ctx, pid)
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

// note tells something once.
func (l *looks) note(text string) {
	if !l.told[text] {
		l.told[text] = true
		l.Note(text)
	}
}

// write writes what look n has found.
func (l *looks) write(n int, snapshots []*snapshot.Snapshot) error {
	circles := snapshot.Deadlocks(snapshots)
	w := bufio.NewWriter(l.Out)
	if l.JSON {
		encoder := json.NewEncoder(w)
		for _, s := range snapshots {
			if err := encoder.Encode(jsonOf(s, l.still[s.PID], circles)); err != nil {
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
			text{w, s, l.still[s.PID], l.All, l.Width}.write()
		}
	}
	for _, s := range snapshots {
		for _, text := range s.Notes {
			l.note(text)
		}
	}
	return w.Flush()
}

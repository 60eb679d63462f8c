package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/goroutine"
)

// Goroutine is one goroutine as it was found.
type Goroutine struct {
	ID     uint64
	Parent uint64 // the goroutine that made it; 0 if not known
	State  string // as tracebacks of Go have it, without the time: "chan receive", "running"
	// Waited is about how long it has waited; zero if Known is not set.
	Waited time.Duration
	Known  bool
	Thread int  // that it runs on or is in a system call on, 0 if none
	Locked bool // to that thread
	System bool // the runtime's own

	User      []Frame // leaf first; of one that runs, the thread has it
	Truncated bool
	Missing   string // why there is no stack
	Creator   string // the function with the go statement, "" if not known
	// Lock is the mutex or channel that it waits for. It is the zero Lock without
	// Options.Locks, or if it is unknown.
	Lock Lock
	// HeldBy is who holds it: "a writer", "3 readers"; "" if unknown. Go does not record
	// which goroutine holds a mutex.
	HeldBy string

	stops   uint8 // how often it has stopped running
	stack   int   // index of its stack, -1 if none
	creator int   // of a stack with that one frame
}

// goroutines reads the goroutines of a Go program.
func (l *look) goroutines(ctx context.Context) error {
	runtimes, err := goroutine.Find(goroutine.Process{PID: l.user.pid, Space: l.user.space, Unwinder: l.unwinder})
	var unknown *goroutine.UnknownError
	switch {
	case errors.As(err, &unknown):
		l.snapshot.Notes = append(l.snapshot.Notes, "no goroutines: "+err.Error())
		return nil
	case errors.Is(err, goroutine.ErrNotGo):
		return nil
	case err != nil:
		l.opts.Logger.Info("no goroutines", "error", err)
		return nil
	}
	tids := l.namespaceTIDs()
	for _, runtime := range runtimes {
		l.snapshot.Runtimes = append(l.snapshot.Runtimes, runtime.Version)
		stacks := make(map[callchain.StackID]int)
		err := runtime.Goroutines(ctx, func(g *goroutine.Goroutine) bool {
			l.goroutine(g, stacks, tids)
			return true
		})
		if err != nil {
			return fmt.Errorf("read goroutines: %w", err)
		}
	}
	slices.SortFunc(l.snapshot.Goroutines, func(a, b *Goroutine) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

// goroutine adds one goroutine; stacks are the indexes of those of its runtime that
// are known already.
func (l *look) goroutine(g *goroutine.Goroutine, stacks map[callchain.StackID]int, tids map[int]*Thread) {
	out := &Goroutine{ID: g.ID, Parent: g.Parent, State: cmp.Or(g.WaitReason, g.Status), Waited: g.Waited, Known: g.Known,
		Locked: g.LockedToThread, System: g.System, Missing: g.Missing, stops: g.Stops, stack: -1, creator: -1}
	if t := tids[g.Thread]; t != nil {
		out.Thread = t.TID
	}
	if g.Lock.Kind != "" && l.opts.Locks {
		out.Lock, out.HeldBy = l.lock(g.Lock.Kind, g.Lock.Addr), heldBy(g.Lock)
	}
	if len(g.Frames) > 0 {
		i, ok := stacks[g.Stack]
		if !ok {
			i = l.intern(g.Frames, g.End != callchain.Complete)
			stacks[g.Stack] = i
		}
		out.stack, out.Truncated = i, g.End != callchain.Complete
	}
	if g.Creator.Object != 0 && g.ID != 1 { // the first is the runtime's own doing
		out.creator = l.intern([]callchain.Frame{g.Creator}, false)
	}
	l.snapshot.Goroutines = append(l.snapshot.Goroutines, out)
}

// heldBy says who holds a lock of Go.
func heldBy(lock goroutine.Lock) string {
	switch {
	case lock.Writer:
		return "a writer"
	case lock.Readers == 1:
		return "1 reader"
	case lock.Readers > 1:
		return fmt.Sprintf("%d readers", lock.Readers)
	}
	return ""
}

// GoroutineGroup is goroutines that stand at the same place.
type GoroutineGroup struct {
	Goroutines []*Goroutine // by ID
}

// GroupGoroutines puts goroutines together whose states, stacks and creators are the
// same, most first. The runtime's own are left out unless system is set.
func (s *Snapshot) GroupGoroutines(system bool) []GoroutineGroup {
	type place struct {
		state, missing string
		stack, creator int
		thread         int
		locked         bool
	}
	var groups []GoroutineGroup
	byPlace := make(map[place]int)
	for _, g := range s.Goroutines {
		if g.System && !system {
			continue
		}
		p := place{g.State, g.Missing, g.stack, g.creator, g.Thread, g.Locked}
		i, ok := byPlace[p]
		if !ok {
			i = len(groups)
			byPlace[p] = i
			groups = append(groups, GoroutineGroup{})
		}
		groups[i].Goroutines = append(groups[i].Goroutines, g)
	}
	slices.SortStableFunc(groups, func(a, b GoroutineGroup) int { return cmp.Compare(len(b.Goroutines), len(a.Goroutines)) })
	return groups
}

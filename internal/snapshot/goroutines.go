package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/goroutine"
)

// Goroutine is the state of one goroutine.
type Goroutine struct {
	ID     uint64
	Parent uint64 // the goroutine that started it; 0 if unknown
	State  string // as in Go's tracebacks, without the time: "chan receive", "running"
	// Waited is roughly how long it has waited; 0 if Known is not set.
	Waited time.Duration
	Known  bool
	Thread int  // id of the thread that it runs on or makes a system call on, 0 if none
	Locked bool // to that thread
	System bool // belongs to the runtime

	User      []Frame // innermost first; empty if it runs, because the thread has the stack
	Truncated bool
	Missing   string // why there is no stack
	Creator   string // function with the go statement, "" if unknown
	// Lock is the mutex or channel that it waits for. It is the zero Lock if unknown, or without
	// Options.Locks.
	Lock Lock
	// HeldBy is who holds it: "a writer", "3 readers"; "" if unknown. Go does not record
	// which goroutine holds a mutex.
	HeldBy string

	stops   uint8 // how often it has stopped running, modulo 256
	stack   int   // index of its interned stack, -1 if none
	creator int   // index of an interned stack that is the creator's frame, -1 if none
}

// goroutines reads the goroutines of a Go program. It does nothing for other programs.
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

// goroutine adds one goroutine. stacks maps the runtime's stacks to their indexes.
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
	if g.Creator.Object != 0 && g.ID != 1 { // the runtime starts the first one
		out.creator = l.intern([]callchain.Frame{g.Creator}, false)
	}
	l.snapshot.Goroutines = append(l.snapshot.Goroutines, out)
}

// heldBy describes who holds a Go lock.
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

// GoroutineGroup is a group of goroutines at the same place.
type GoroutineGroup struct {
	Goroutines []*Goroutine // by ID
}

// GroupGoroutines groups goroutines that have the same state, stack and creator, largest group
// first. It omits the runtime's own unless system is set.
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

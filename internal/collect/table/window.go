package table

import (
	"sync"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/internal/stack"
)

// Window is the table of one stretch of time. It is plain data that does not change any more, so
// that another goroutine may symbolize and print it.
type Window struct {
	Start, End uint64   // CLOCK_MONOTONIC, nanoseconds
	Notes      []string // about this window or, in the whole run's, about the run: see Noter
	Details    []string // see Noter

	Rows      []profile.Row // User and Kernel are indexes into Stacks
	Processes []profile.Process
	stack.Set

	Counts []Counts // of each collector
}

// histograms returns the histograms of a row, indexed by collector; nil if there are none.
func (r *Recorder) histograms(t *table, k key) (all []*histogram.Histogram) {
	for i := range r.parts {
		if h := t.histograms[observed{i, k}]; h != nil {
			if all == nil {
				all = make([]*histogram.Histogram, len(r.parts))
			}
			all[i] = h
		}
	}
	return all
}

// window makes a Window of a table, and returns the keys of its rows. described has the processes by
// Process.Index.
func (r *Recorder) window(t *table, described map[int]profile.Process, counts []Counts, start, end uint64) (w *Window, keys []key) {
	w = &Window{Start: start, End: end, Counts: counts}
	var distinct []stack.Stack
	indexes := make(map[callchain.StackID]int)
	index := func(id callchain.StackID) int {
		if id == stack.None {
			return profile.None
		}
		i, ok := indexes[id]
		if !ok {
			i = len(distinct)
			indexes[id] = i
			distinct = append(distinct, r.stacks.Stack(id))
		}
		return i
	}
	described[noProcess] = profile.Process{PID: -1, NSPID: -1, TGID: -1, Comm: "[no memory left]"}
	processes := make(map[int]int)
	for _, k := range t.keys() {
		histograms := r.histograms(t, k)
		if histograms == nil && t.empty(k) {
			continue
		}
		p, ok := processes[k.process]
		if !ok {
			p = len(w.Processes)
			processes[k.process] = p
			w.Processes = append(w.Processes, described[k.process])
		}
		w.Rows = append(w.Rows, profile.Row{Process: p, User: index(k.user), Kernel: index(k.kernel), Values: t.row(k), Histograms: histograms})
		keys = append(keys, k)
	}
	w.Set = r.stacks.Set(distinct)
	return w, keys
}

// index calls the Indexers. keys are those of the window's rows.
func (r *Recorder) index(keys []key) {
	places := sync.OnceValue(func() map[key]int {
		places := make(map[key]int, len(keys))
		for i, k := range keys {
			places[k] = i
		}
		return places
	})
	for i := range r.parts {
		if indexer, ok := r.parts[i].collector.(Indexer); ok {
			indexer.Index(func(row Row) int {
				at, ok := places()[r.joined(row.key)]
				if !ok {
					return profile.None
				}
				return at
			})
		}
	}
}

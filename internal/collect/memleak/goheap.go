package memleak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/runtimes/goroutine"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// goHeaps has the heaps of the Go programs among the watched processes. Go does not allocate by
// malloc, but its runtime samples allocations.
type goHeaps struct {
	watched []int // processes; of a command, even before it has executed its program
	older   bool  // only old memory is wanted; Go's samples do not say how old memory is
	heaps   map[int]*goHeap
}

// goHeap is the heap of one process.
type goHeap struct {
	name   string
	heap   *goroutine.Heap // nil: the process is no Go program, or its samples can't be found
	base   map[uint64]goroutine.HeapSite
	why    error // why the heap can't be read
	unread bool  // the process ended before the last window did
	early  bool  // no garbage was collected in the run: memory that is shown may be garbage
	shown  bool  // the last window has the heap
}

func newGoHeaps(watched []int, older bool) *goHeaps {
	return &goHeaps{watched: watched, older: older, heaps: make(map[int]*goHeap)}
}

// look finds the Go programs among the watched processes.
func (g *goHeaps) look(rows *table.Rows) {
	for _, pid := range g.watched {
		g.find(rows, pid)
	}
}

// start reads what is in use when the run starts.
func (g *goHeaps) start() {
	for _, pid := range g.watched {
		if h := g.heaps[pid]; h != nil && h.heap != nil {
			sites, _, err := h.heap.Read(context.Background())
			if h.why = err; err != nil {
				continue
			}
			for _, s := range sites {
				h.base[s.ID] = s
			}
		}
	}
}

// find checks whether a process is a Go program. If not, it is checked again later, because a
// command may not have executed its program yet.
func (g *goHeaps) find(rows *table.Rows, pid int) {
	p := rows.Processes().Process(pid)
	heap, err := goroutine.FindHeap(goroutine.Process{PID: pid, Space: p})
	if errors.Is(err, goroutine.ErrNotGo) {
		return
	}
	g.heaps[pid] = &goHeap{name: p.Comm, heap: heap, why: err, base: make(map[uint64]goroutine.HeapSite)}
}

// end adds the memory that was allocated since the run started and is still in use.
func (g *goHeaps) end(rows *table.Rows) {
	if g.older {
		return
	}
	for _, pid := range g.watched {
		if g.heaps[pid] == nil {
			g.find(rows, pid)
		}
		h := g.heaps[pid]
		if h == nil || h.heap == nil {
			continue
		}
		sites, rate, err := h.heap.Read(context.Background())
		if err != nil {
			if errors.Is(err, goroutine.ErrNotSampled) {
				h.why = err
			} else {
				h.unread = true
			}
			continue
		}
		h.why, h.unread, h.shown = nil, false, true
		h.early = !slices.ContainsFunc(sites, func(s goroutine.HeapSite) bool { return s.Allocated != h.base[s.ID].Allocated })
		for i := range sites {
			s := &sites[i]
			before, now := h.base[s.ID], s.Used
			grown := now - before.Used
			if h.early {
				grown = s.Kept - before.Kept
			}
			objects, bytes := s.Scale(grown, rate)
			if objects == 0 {
				continue
			}
			row := rows.Stack(uint32(pid), s.Frames, false, []callchain.Frame(nil))
			rows.Add(row, leakedSize, bytes)
			rows.Add(row, leakedCount, objects)
		}
	}
}

// say writes which heaps are missing, and how the numbers of the others were made.
func (g *goHeaps) say(w io.Writer) {
	for _, pid := range slices.Sorted(maps.Keys(g.heaps)) {
		h := g.heaps[pid]
		name := fmt.Sprintf("memleak: process %d %s: ", pid, escape.Text(h.name))
		var unknown *goroutine.UnknownError
		switch {
		case g.older:
			fmt.Fprintln(w, name+"Go's heap is not covered, because its samples do not say how old memory is; leave out --older")
		case errors.As(h.why, &unknown):
			fmt.Fprintf(w, "%sGo's heap is not covered: %s\n", name, escape.Text(unknown.Why))
		case errors.Is(h.why, goroutine.ErrNotSampled):
			fmt.Fprintln(w, name+"Go's heap is not covered, because "+goroutine.ErrNotSampled.Error()+
				". Import runtime/pprof or net/http/pprof in it. Until then, see which stacks allocate:\n  ringtap probe --count "+
				escape.Text(h.heap.Path)+":runtime.mallocgc -p "+fmt.Sprint(pid))
		case h.why != nil:
			fmt.Fprintf(w, "%sGo's heap is not covered: %s\n", name, escape.Text(h.why.Error()))
		case !h.shown:
			fmt.Fprintln(w, name+"Go's heap is not covered, because the process ended before ringtap could read it; end the run earlier (-d)")
		case h.unread:
			fmt.Fprintln(w, name+"it ended before the end of the run; Go's heap is as of an earlier interval")
		case h.early:
			fmt.Fprintln(w, name+"Go's heap is estimated from the runtime's samples; no garbage was collected in the run, so some of the memory may be garbage")
		default:
			fmt.Fprintln(w, name+"Go's heap is estimated from the runtime's samples, as of the last garbage collections before and in the run; --inlines names inlined functions")
		}
	}
}

package moment

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// Visitor is the name of the visitor that NewVisitors makes, in the table of near.Serve.
const Visitor = "interpreted calls"

// NewVisitors makes the visitors of one helper, which find runtimes by detectors.
func NewVisitors(detectors []interp.Detector) near.New {
	t := &team{detectors: detectors, attached: make(map[int]*attached)}
	return func(config []byte) (near.Visitor, error) {
		pages, n := binary.Uvarint(config)
		if n <= 0 || pages == 0 || pages > maxTable {
			return nil, errConfig
		}
		v := &visitor{team: t, calls: make([]interp.Call, 0, maxCalls)}
		v.beyond = newBeyond(int(pages), &v.memory)
		v.ahead = interp.NewAhead(&v.memory)
		v.of.Store(new([]watched))
		t.all = append(t.all, v)
		return v, nil
	}
}

// errConfig: a caller of another version.
var errConfig = errors.New("the size of the table of pages makes no sense")

const maxTable = 1 << 16

// maxCalls is how many calls of a thread are read: less than visitBytes has room for.
const maxCalls = 48 << 10 / (callWords * wordSize)

// team is what the visitors of all CPUs share. It belongs to the goroutine that they hear on.
type team struct {
	detectors []interp.Detector
	attached  map[int]*attached // by pid
	all       []*visitor
}

// attached is a process that has runtimes.
type attached struct {
	runtimes []interp.Runtime
	nested   bool // it is in another pid namespace
	stackNews
}

// stackNews is what a helper was told of a process's stacks.
type stackNews struct {
	areas     []area               // in which they lie
	deep      bool                 // they are read behind the copies
	crossings []callchain.Crossing // they are read where they go on from there, too
	vain      []int                // samplings where they are not read, in order
}

// visitor walks the interpreters of threads on one CPU.
type visitor struct {
	team   *team
	of     atomic.Pointer[[]watched] // by pid
	memory visitMemory
	ahead  *interp.Ahead // over memory
	beyond *beyond
	calls  []interp.Call
	thread interp.Thread
}

// watched is a process whose samples are visited.
type watched struct {
	pid    uint32
	nested bool
	stackNews
	walkers []walker
}

type walker struct {
	runtime uint64
	interp.Walker
}

// Hear is of near.Hearer. The first visitor that is told attaches.
func (v *visitor) Hear(message []byte) {
	n, ok := told(message)
	if !ok {
		return
	}
	if v == v.team.all[0] {
		v.team.hear(n)
	}
	what, pid := n.what, n.pid
	if what == resend {
		v.beyond.forget.Store(true)
		return
	}
	all := slices.Clone(*v.of.Load())
	at, found := slices.BinarySearchFunc(all, uint32(pid), func(w watched, pid uint32) int { return cmp.Compare(w.pid, pid) })
	a := v.team.attached[pid]
	switch {
	case a == nil && found:
		all = slices.Delete(all, at, at+1)
	case a == nil:
		return
	case what != attachTo && found:
		all[at].stackNews = a.stackNews
	default:
		w := watched{pid: uint32(pid), nested: a.nested, stackNews: a.stackNews}
		for _, r := range a.runtimes {
			w.walkers = append(w.walkers, walker{IDOf(r.Name()), r.Walker(v.ahead)})
		}
		if found {
			all[at] = w
		} else {
			all = slices.Insert(all, at, w)
		}
	}
	v.of.Store(&all)
}

// hear takes note of a message.
func (t *team) hear(n news) {
	what, pid := n.what, n.pid
	switch a := t.attached[pid]; {
	case what == forget:
		delete(t.attached, pid)
	case what == attachTo:
		delete(t.attached, pid)
		table := process.NewTable(process.Options{})
		defer table.Close()
		// The caller says why a runtime can't be read.
		of := table.Process(pid)
		runtimes, _ := interp.Attach(interp.NewProcess(pid, of), t.detectors)
		if len(runtimes) > 0 {
			t.attached[pid] = &attached{runtimes: runtimes, nested: of.NSPID != pid}
		}
	case a != nil && what == noneBeyond:
		if at, found := slices.BinarySearch(a.vain, int(n.addr)); !found {
			a.vain = slices.Insert(slices.Clone(a.vain), at, int(n.addr))
		}
	case a != nil:
		a.note(n)
	case what == beyondOf || what == goesIntoGo || what == goesIntoC:
		a = &attached{}
		a.note(n)
		t.attached[pid] = a
	}
}

// note takes note of news.
func (s *stackNews) note(n news) {
	s.areas = n.change(s.areas)
	s.deep = s.deep || n.what == beyondOf
	if c, ok := n.crossing(); ok && !slices.Contains(s.crossings, c) && len(s.crossings) < maxCrossings {
		s.crossings = append(slices.Clip(s.crossings), c)
	}
}

// maxCrossings bounds those of a process. Most have two, one of each kind.
const maxCrossings = 8

// Wants is of near.Chooser.
func (v *visitor) Wants(s *perfevent.Sample) bool {
	w := v.find(s.PID)
	if w == nil || len(w.walkers) > 0 {
		return w != nil
	}
	areas := w.areasOf(s)
	return len(w.crossings) > 0 && len(areas) > 0 || w.deep && behind(s, areas).end > 0
}

// areasOf is where the stack of a sample is read.
func (w *watched) areasOf(s *perfevent.Sample) []area {
	if _, isVain := slices.BinarySearch(w.vain, s.Sampling); isVain {
		return nil
	}
	return w.areas
}

// find is the process with that pid; nil if it is not watched.
func (v *visitor) find(pid uint32) *watched {
	all := *v.of.Load()
	low, high := 0, len(all)
	for low < high {
		if middle := int(uint(low+high) >> 1); all[middle].pid < pid {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(all) || all[low].pid != pid {
		return nil
	}
	return &all[low]
}

// Visit is of near.Visitor.
func (v *visitor) Visit(visit *near.Visit) error {
	w := v.find(visit.Sample.PID)
	if w == nil {
		return near.ErrMemory // it was forgotten a moment ago
	}
	v.memory.visit = visit
	if len(w.walkers) > 0 {
		if err := v.walk(visit, w); err != nil {
			return err
		}
	}
	v.beyond.keep(visit, w)
	return nil
}

// walk hands over the calls of interpreted code.
func (v *visitor) walk(visit *near.Visit, w *watched) error {
	if v.thread.TID = int(visit.Sample.TID); w.nested {
		own, err := visit.OwnTID()
		if err != nil {
			return err
		}
		v.thread.TID = own
	}
	v.ahead.Begin(int(visit.Sample.TID))
	for i := range w.walkers {
		v.memory.err = nil
		calls, end := w.walkers[i].Walk(v.calls[:0], &v.thread)
		switch {
		case v.memory.err == near.ErrTime: // a walker may do without what it could not read
			return near.ErrTime
		case end == callchain.Lost:
			return cmp.Or(v.memory.err, near.ErrMemory)
		case len(calls) == 0:
			continue
		}
		if err := keep(visit, w.walkers[i].runtime, calls, end); err != nil {
			return err
		}
	}
	return nil
}

// keep hands over a chain.
func keep(visit *near.Visit, runtime uint64, calls []interp.Call, end callchain.End) error {
	for _, word := range head(runtime, calls, end) {
		if err := visit.KeepWord(word); err != nil {
			return err
		}
	}
	for i := range calls {
		for _, word := range words(&calls[i]) {
			if err := visit.KeepWord(word); err != nil {
				return err
			}
		}
	}
	return nil
}

// visitMemory is the memory of the thread that is visited.
type visitMemory struct {
	visit *near.Visit
	err   error // the last
}

// Read is of interp.Memory.
func (m *visitMemory) Read(addr uint64, b []byte) bool {
	if err := m.visit.Read(addr, b); err != nil {
		m.err = err
		return false
	}
	return true
}

// ReadMany is of interp.Many. What is left is read once more, one by one, or there is no time.
func (m *visitMemory) ReadMany(pieces []unix.RemoteIovec, b []byte) int {
	n, _ := m.visit.ReadMany(pieces, b)
	return n
}

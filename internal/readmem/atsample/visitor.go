package atsample

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/perfevent"
)

// Visitor is the name of NewVisitors in the table that is passed to helper.Serve.
const Visitor = "interpreted calls"

// NewVisitors returns a function that makes the visitors of one helper, one for each CPU. detectors find the
// runtimes of a process.
func NewVisitors(detectors []interp.Detector) helper.NewVisitor {
	set := &visitorSet{detectors: detectors, attached: make(map[int]*attachedProcess)}
	return func(config []byte) (helper.Visitor, error) {
		pages, n := binary.Uvarint(config)
		if n <= 0 || pages == 0 || pages > maxTablePages {
			return nil, errConfig
		}
		v := &visitor{set: set, calls: make([]interp.Call, 0, maxCalls)}
		v.stacks = newDeepStackReader(int(pages), &v.memory)
		v.prefetch = interp.NewAhead(&v.memory)
		v.processes.Store(new([]visitedProcess))
		set.visitors = append(set.visitors, v)
		return v, nil
	}
}

// errConfig is returned when the config is not what startChild sends, as from another version of ringtap.
var errConfig = errors.New("the size of the table of pages makes no sense")

// maxTablePages is the largest table of pages that a visitor accepts.
const maxTablePages = 1 << 16

// maxCalls is the most calls of a thread that are read. They take less than visitBytes.
const maxCalls = 48 << 10 / (wordsPerCall * wordSize)

// visitorSet is what the visitors of all CPUs share. It belongs to the goroutine that calls Receive.
type visitorSet struct {
	detectors []interp.Detector
	cache     interp.Cache             // of interpreters' code
	attached  map[int]*attachedProcess // by PID
	visitors  []*visitor
}

// attachedProcess is a process with the runtimes that the helper attached to, if any.
type attachedProcess struct {
	runtimes []interp.Runtime
	isNested bool // it is in another PID namespace
	stackConfig
}

// visitor reads interpreter frames and stacks at the samples of one CPU. Receive replaces processes, and all other
// fields belong to the CPU's real-time thread.
type visitor struct {
	set       *visitorSet
	processes atomic.Pointer[[]visitedProcess] // by PID
	memory    visitMemory
	prefetch  *interp.Ahead // reads memory, and more at once
	stacks    *deepStackReader
	calls     []interp.Call
	thread    interp.Thread
}

// visitedProcess is a process as one visitor sees it, with walkers of its own.
type visitedProcess struct {
	pid      uint32
	isNested bool
	stackConfig
	walkers []walker
}

type walker struct {
	runtimeID uint64
	interp.Walker
}

// Receive implements helper.Receiver. All visitors get each message. The first visitor of the set attaches to the
// process, for all of them.
func (v *visitor) Receive(message []byte) {
	req, ok := decodeRequest(message)
	if !ok {
		return
	}
	if v == v.set.visitors[0] {
		v.set.handle(req)
	}
	kind, pid := req.kind, req.pid
	if kind == reqResendPages {
		v.stacks.forgetSent.Store(true)
		return
	}
	processes := slices.Clone(*v.processes.Load())
	i, found := slices.BinarySearchFunc(processes, uint32(pid), func(w visitedProcess, pid uint32) int { return cmp.Compare(w.pid, pid) })
	a := v.set.attached[pid]
	switch {
	case a == nil && found:
		processes = slices.Delete(processes, i, i+1)
	case a == nil:
		return
	case kind != reqAttach && found:
		processes[i].stackConfig = a.stackConfig
	default:
		w := visitedProcess{pid: uint32(pid), isNested: a.isNested, stackConfig: a.stackConfig}
		for _, r := range a.runtimes {
			w.walkers = append(w.walkers, walker{RuntimeID(r.Name()), r.Walker(v.prefetch)})
		}
		if found {
			processes[i] = w
		} else {
			processes = slices.Insert(processes, i, w)
		}
	}
	v.processes.Store(&processes)
}

// handle updates the set by one request.
func (set *visitorSet) handle(req request) {
	kind, pid := req.kind, req.pid
	switch a := set.attached[pid]; {
	case kind == reqForget:
		delete(set.attached, pid)
	case kind == reqAttach:
		delete(set.attached, pid)
		table := process.NewTable(process.Options{})
		defer table.Close()
		// The caller has attached too, and reports errors.
		p := table.Process(pid)
		runtimes, _ := interp.Attach(interp.NewProcess(pid, p, &set.cache), set.detectors)
		if len(runtimes) > 0 {
			set.attached[pid] = &attachedProcess{runtimes: runtimes, isNested: p.NSPID != pid}
		}
	case a != nil && kind == reqSkipSampling:
		if i, found := slices.BinarySearch(a.skippedSamplings, int(req.addr)); !found {
			a.skippedSamplings = slices.Insert(slices.Clone(a.skippedSamplings), i, int(req.addr))
		}
	case a != nil:
		a.apply(req)
	case kind == reqDeepStacks || kind == reqSwitchToGo || kind == reqSwitchToC:
		a = &attachedProcess{}
		a.apply(req)
		set.attached[pid] = a
	}
}

// Accepts implements helper.SampleFilter.
func (v *visitor) Accepts(s *perfevent.Sample) bool {
	w := v.process(s.PID)
	if w == nil || len(w.walkers) > 0 {
		return w != nil
	}
	areas := w.areasOf(s)
	return len(w.crossings) > 0 && len(areas) > 0 || w.isDeep && remainderOf(s, areas).end > 0
}

// areasOf returns the areas to read stacks from at sample s, or nil if none are to be read.
func (w *visitedProcess) areasOf(s *perfevent.Sample) []stackArea {
	if _, isSkipped := slices.BinarySearch(w.skippedSamplings, s.Sampling); isSkipped {
		return nil
	}
	return w.areas
}

// process returns the process with that PID, or nil if it is not watched.
func (v *visitor) process(pid uint32) *visitedProcess {
	processes := *v.processes.Load()
	low, high := 0, len(processes)
	for low < high {
		if middle := int(uint(low+high) >> 1); processes[middle].pid < pid {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(processes) || processes[low].pid != pid {
		return nil
	}
	return &processes[low]
}

// Visit implements helper.Visitor.
func (v *visitor) Visit(visit *helper.Visit) error {
	w := v.process(visit.Sample.PID)
	if w == nil {
		return helper.ErrMemory // forgotten since Accepts
	}
	v.memory.visit = visit
	if len(w.walkers) > 0 {
		if err := v.walk(visit, w); err != nil {
			return err
		}
	}
	v.stacks.read(visit, w)
	return nil
}

// walk sends the calls of the thread's interpreted code.
func (v *visitor) walk(visit *helper.Visit, w *visitedProcess) error {
	if v.thread.TID = int(visit.Sample.TID); w.isNested {
		nsTID, err := visit.OwnTID()
		if err != nil {
			return err
		}
		v.thread.TID = nsTID
	}
	v.prefetch.Begin(int(visit.Sample.TID))
	for i := range w.walkers {
		v.memory.err = nil
		calls, end := w.walkers[i].Walk(v.calls[:0], &v.thread)
		switch {
		case v.memory.err == helper.ErrTime: // a walker may go on after a failed read
			return helper.ErrTime
		case end == callchain.Lost:
			return cmp.Or(v.memory.err, helper.ErrMemory)
		case len(calls) == 0:
			continue
		}
		if err := keepChain(visit, w.walkers[i].runtimeID, calls, end); err != nil {
			return err
		}
	}
	return nil
}

// keepChain sends one chain.
func keepChain(visit *helper.Visit, runtime uint64, calls []interp.Call, end callchain.End) error {
	for _, word := range headerWords(runtime, calls, end) {
		if err := visit.KeepWord(word); err != nil {
			return err
		}
	}
	for i := range calls {
		for _, word := range wordsOf(&calls[i]) {
			if err := visit.KeepWord(word); err != nil {
				return err
			}
		}
	}
	return nil
}

// visitMemory is the memory of the thread that is visited.
type visitMemory struct {
	visit *helper.Visit
	err   error // of the last failed read
}

// Read implements interp.Memory.
func (m *visitMemory) Read(addr uint64, b []byte) bool {
	if err := m.visit.Read(addr, b); err != nil {
		m.err = err
		return false
	}
	return true
}

// ReadMany implements interp.Many. It needs no error: what it could not read, interp.Ahead reads again by Read,
// which sets one.
func (m *visitMemory) ReadMany(pieces []unix.RemoteIovec, b []byte) int {
	n, _ := m.visit.ReadMany(pieces, b)
	return n
}

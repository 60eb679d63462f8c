package atsample

import (
	"slices"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// waitingProcess is a process whose threads offCPUReader reads when they wait.
type waitingProcess struct {
	process  *process.Process
	isNew    bool // no round has queued its waiting threads yet
	stacks   stackConfig
	memory   timedMemory
	walkers  []walker
	namers   namers
	calls    []interp.Call
	isNested bool // it is in another PID namespace

	// Guarded by offCPUReader.mu:
	requests                []request // about its stacks, each kind once
	requestedAt             uint64    // when they were made last; 0: never
	deadMarked, deadRefuted bool      // see watchedProcess
}

// offCPUReading is what was read of a thread that waits.
type offCPUReading struct {
	process *waitingProcess
	calls   Calls
}

func newWaitingProcess(p *process.Process, runtimes []*interp.Namer) *waitingProcess {
	w := &waitingProcess{process: p, isNew: true, isNested: p.NSPID != p.PID, memory: timedMemory{Live: interp.Live(p.PID)}, namers: newNamers(runtimes)}
	if len(runtimes) > 0 {
		w.calls = make([]interp.Call, 0, maxCalls)
	}
	for _, r := range runtimes {
		w.walkers = append(w.walkers, walker{RuntimeID(r.Name()), r.Walker(&w.memory)})
	}
	return w
}

// maxWalkTime is the longest time that reading a thread's calls may take, and then that reading its stacks may
// take.
const maxWalkTime = time.Millisecond

// walk reads the calls and stacks of the thread that w is about into w.reading. It reports false if the calls
// cannot be read, or if p is nil.
func (p *waitingProcess) walk(w *wait, stacks *waitingStacks) bool {
	if p == nil {
		return false
	}
	tid := int(w.samples[0].tid)
	if p.isNested && len(p.walkers) > 0 {
		status, err := process.Host{}.Status(tid)
		if err != nil {
			return false // the thread has ended
		}
		tid = status.NSPID
	}
	p.memory.deadline, p.memory.expired = time.Now().Add(maxWalkTime), false
	w.reading = offCPUReading{process: p, calls: Calls{Kind: helper.Exact}}
	for i := range p.walkers {
		calls, end := p.walkers[i].Walk(p.calls[:0], &interp.Thread{TID: tid})
		if end == callchain.Lost || p.memory.expired { // a walker may go on after a failed read
			return false
		}
		if len(calls) > 0 {
			w.reading.calls.Chains = append(w.reading.calls.Chains, Chain{p.walkers[i].runtimeID, slices.Clone(calls), end})
		}
	}
	p.memory.deadline = time.Now().Add(maxWalkTime)
	if p.stacks.isDeep {
		w.reading.calls.Beyond = stacks.read(&p.memory, p.stacks.areas, w.copied)
	}
	if len(p.stacks.crossings) > 0 {
		stacks.readOthers(&p.memory, &p.stacks, w.copied, &w.reading.calls)
	}
	return true
}

// timedMemory is the memory of a process, which can be read until a deadline.
type timedMemory struct {
	interp.Live
	deadline time.Time
	expired  bool // a read failed because of the deadline
}

// Read implements interp.Memory.
func (m *timedMemory) Read(addr uint64, b []byte) bool {
	if !time.Now().Before(m.deadline) {
		m.expired = true
		return false
	}
	return m.Live.Read(addr, b)
}

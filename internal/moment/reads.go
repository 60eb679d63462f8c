package moment

import (
	"slices"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent/near"
)

// reads is how the threads of a process are read.
type reads struct {
	process *process.Process
	isNew   bool // no round has read its threads yet
	stacks  stackNews
	memory  timedMemory
	walkers []walker
	names   namers
	calls   []interp.Call
	nested  bool // the process is in another pid namespace

	// Of leisure.mu:
	wants        []news // of the stacks, that were asked for
	asked        uint64 // when they were asked for last; 0: never
	over, uneven bool   // as of target
}

// reading is the calls of a thread that waits.
type reading struct {
	by    *reads
	calls Calls
}

func newReads(p *process.Process, runtimes []*interp.Namer) *reads {
	t := &reads{process: p, isNew: true, nested: p.NSPID != p.PID, memory: timedMemory{Live: interp.Live(p.PID)}, names: newNamers(runtimes)}
	if len(runtimes) > 0 {
		t.calls = make([]interp.Call, 0, maxCalls)
	}
	for _, r := range runtimes {
		t.walkers = append(t.walkers, walker{IDOf(r.Name()), r.Walker(&t.memory)})
	}
	return t
}

// walkTime is how long a walk may take, and the reading of a stack.
const walkTime = time.Millisecond

// walk reads the calls of the thread of a wait. It reports false if they can't be read.
func (t *reads) walk(w *wait, stacks *standing) bool {
	if t == nil {
		return false
	}
	tid := int(w.samples[0].tid)
	if t.nested && len(t.walkers) > 0 {
		status, err := process.Host{}.Status(tid)
		if err != nil {
			return false // it has ended
		}
		tid = status.NSPID
	}
	t.memory.until, t.memory.refused = time.Now().Add(walkTime), false
	w.reading = reading{by: t, calls: Calls{Kind: near.Exact}}
	for i := range t.walkers {
		calls, end := t.walkers[i].Walk(t.calls[:0], &interp.Thread{TID: tid})
		if end == callchain.Lost || t.memory.refused { // a walker may do without what it could not read
			return false
		}
		if len(calls) > 0 {
			w.reading.calls.Chains = append(w.reading.calls.Chains, Chain{t.walkers[i].runtime, slices.Clone(calls), end})
		}
	}
	t.memory.until = time.Now().Add(walkTime)
	if t.stacks.deep {
		w.reading.calls.Beyond = stacks.read(&t.memory, t.stacks.areas, w.copied)
	}
	if len(t.stacks.crossings) > 0 {
		stacks.others(&t.memory, &t.stacks, w.copied, &w.reading.calls)
	}
	return true
}

// timedMemory is the memory of a process until some time.
type timedMemory struct {
	interp.Live
	until   time.Time
	refused bool // a read came later
}

// Read is of interp.Memory.
func (m *timedMemory) Read(addr uint64, b []byte) bool {
	if !time.Now().Before(m.until) {
		m.refused = true
		return false
	}
	return m.Live.Read(addr, b)
}

package syscalltext

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// reader finds texts in the memory of the processes when their records come in,
// and keeps them until the records are handed on. It serves all events of an
// attachment.
//
// What a record carries of the stack is as the event found it; the rest is
// read a moment later. Where another program has taken the process's place by
// then, which its record tells, what was read is not the event's and is dropped.
type reader struct {
	memory memory
	sp     int // the stack pointer's bit in a mask of registers
	now    func() uint64
	maps   func(pid int) ranges
	events []*event // by sampling; nil for those without texts
	execs  *execs   // of the sampling behind those of the events; nil if there is none
	exact  *exact   // nil if nothing is read exactly

	news chan struct{} // something happened that program may wait for

	mu      sync.Mutex
	pending map[key]*found
	order   []key               // oldest first, those that are not pending any more among them
	late    map[uint32][]*found // by process: what its next program makes void
	last    map[uint32]*found   // by thread
	fixed   map[uint32]*fixed   // by process
}

// maxPending bounds the samples whose texts are kept.
const maxPending = 1 << 16

// key names a sample.
type key struct {
	time     uint64
	tid, cpu uint32
}

// found is the texts of one sample.
type found struct {
	time, read uint64 // nanoseconds: when it happened, when the memory was read
	addrs      []uint64
	texts      []text
}

func newReader() *reader {
	return &reader{
		memory: process.Host{}.ReadMemory, sp: stackPointer, now: perfevent.Now, maps: fixedMemory,
		news:    make(chan struct{}, 1),
		pending: make(map[key]*found), late: make(map[uint32][]*found),
		last: make(map[uint32]*found), fixed: make(map[uint32]*fixed),
	}
}

// seen is offered the records as they come: see perfevent.Reader.Unordered.
func (r *reader) seen(record perfevent.Record) {
	switch record := record.(type) {
	case *perfevent.Sample:
		if record.Sampling >= len(r.events) {
			r.mu.Lock()
			r.execs.started(record)
			r.mu.Unlock()
			r.announce()
		} else if e := r.events[record.Sampling]; e != nil {
			r.exact.saw(record)
			r.sample(e, record)
		}
	case *perfevent.Comm:
		if record.Exec {
			r.replaced(record)
		}
	case *perfevent.Exit:
		r.ended(record)
	}
}

// sample finds the texts of a sample.
func (r *reader) sample(e *event, s *perfevent.Sample) {
	f := &found{time: s.Time, addrs: make([]uint64, len(e.layout.params)), texts: make([]text, len(e.layout.params))}
	isLate := false
	for i, p := range e.layout.params {
		t := &f.texts[i]
		addr := e.pointer(i, s.Raw)
		if addr == 0 {
			continue
		}
		f.addrs[i] = addr
		begin, whole := e.fetched(i, s.Raw)
		if whole {
			t.bytes = begin
			continue
		}
		if !p.Vector {
			t.bytes = r.onStack(s, addr, e.layout.limit)
		}
		if t.bytes == nil {
			t.bytes, t.late = r.read(p, s, addr, e.layout.limit), true
		}
		if begin != nil && !continues(t.bytes, begin) {
			t.bytes, t.late = begin, false
		}
		isLate = isLate || t.late && t.bytes != nil
	}
	f.read = r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overwritten(s, f)
	if r.execs != nil && isExec(e.layout.format) {
		r.execs.called(s, e.vector(s.Raw))
		r.announce()
	}
	k := key{s.Time, s.TID, s.CPU}
	r.pending[k] = f
	r.order = append(r.order, k)
	if isLate {
		r.late[s.PID] = append(r.forget(r.late[s.PID]), f)
	}
	for len(r.order) > maxPending {
		delete(r.pending, r.order[0])
		r.order = r.order[1:]
	}
}

// continues tells whether a text is one that the kernel has cut.
func continues(b, begin []byte) bool {
	return bytes.HasPrefix(b, bytes.TrimRight(begin, "\x00."))
}

// overwritten drops what was read for the thread's sample before f's, if the
// thread had gone on by then and put another name in the same place, or so near
// that it has used the place again. What can't be written to is what it was.
func (r *reader) overwritten(s *perfevent.Sample, f *found) {
	before := r.last[s.TID]
	r.last[s.TID] = f
	if before == nil || before.read < f.time {
		return
	}
	for i := range before.texts {
		t := &before.texts[i]
		if !t.late || len(t.bytes) == 0 {
			continue
		}
		addr := before.addrs[i]
		again := slices.ContainsFunc(f.addrs, func(next uint64) bool { return next != addr && next+beside > addr && next < addr+beside })
		if j := slices.Index(f.addrs, addr); j >= 0 {
			again = bytes.Equal(t.bytes, f.texts[j].bytes)
		}
		if again && !r.isFixed(s.PID, addr) {
			t.bytes = nil
		}
	}
}

// beside is how far apart, in bytes, two names are at most of which one may have
// been put where the other was: less than any piece of a heap has.
const beside = 16

// isFixed tells whether a process can't write to the memory at addr.
func (r *reader) isFixed(pid uint32, addr uint64) bool {
	f := r.fixed[pid]
	if f == nil || !f.has(addr) && r.now()-f.read > fixedFor {
		f = &fixed{r.maps(int(pid)), r.now()}
		r.fixed[pid] = f
	}
	return f.has(addr)
}

// ended forgets a thread that has ended.
func (r *reader) ended(record *perfevent.Exit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, record.TID)
	if r.execs != nil {
		r.execs.ended(record.TID)
		r.announce()
	}
	if record.PID == record.TID {
		delete(r.late, record.PID)
		delete(r.fixed, record.PID)
	}
}

// memoryOf is how long, in nanoseconds, what was read late may still turn out to
// be another program's: its record is written after its memory is in place.
const memoryOf = 1_000_000_000

// forget leaves out what no record can make void any more.
func (r *reader) forget(late []*found) []*found {
	now := r.now()
	for len(late) > 0 && now-late[0].read > memoryOf {
		late = late[1:]
	}
	return late
}

// replaced takes note that a process runs another program.
func (r *reader) replaced(record *perfevent.Comm) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.late[record.PID] {
		if f.time < record.Time && record.Time < f.read {
			for i := range f.texts {
				if f.texts[i].late {
					f.texts[i].bytes = nil
				}
			}
		}
	}
	delete(r.late, record.PID)
	delete(r.fixed, record.PID)
}

// take returns the texts of a sample of the i-th source, whose event is e, once.
func (r *reader) take(i int, e *event, s *perfevent.Sample) []text {
	exact, all := r.exact.take(i, e, s)
	r.mu.Lock()
	defer r.mu.Unlock()
	texts := merge(r.takeRead(s), exact)
	if r.execs == nil || !isExec(e.layout.format) {
		return texts
	}
	if all {
		r.execs.take(s, e.vector(s.Raw)) // it needs no answer
		return texts
	}
	if x := r.program(s, e.vector(s.Raw)); x != nil {
		if texts == nil {
			texts = make([]text, len(e.layout.params))
		}
		x.complete(e, s.Raw, texts)
	}
	return texts
}

// execWithin is how long after a call, in nanoseconds, the record of its program is waited for.
// Records are handed on some milliseconds after they come, and a busy machine takes longer
// than that to start a program.
const execWithin = 1_000_000_000

// program returns the program that a call has started, nil if none is known. It unlocks r
// while it waits for the program's record.
func (r *reader) program(s *perfevent.Sample, argv uint64) *executed {
	x := r.execs.take(s, argv)
	passed := int64(r.now() - s.Time)
	if x != nil || passed >= execWithin || r.execs.goesOn(s) {
		return x
	}
	timer := time.NewTimer(time.Duration(execWithin - max(passed, 0)))
	defer timer.Stop()
	for {
		r.mu.Unlock()
		waiting := true
		select {
		case <-r.news:
		case <-timer.C:
			waiting = false
		}
		r.mu.Lock()
		if x = r.execs.take(s, argv); x != nil || !waiting || r.execs.goesOn(s) {
			return x
		}
	}
}

// announce ends a wait of program for news.
func (r *reader) announce() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// takeRead returns the texts of a sample that were read, once.
func (r *reader) takeRead(s *perfevent.Sample) []text {
	k := key{s.Time, s.TID, s.CPU}
	f := r.pending[k]
	if f == nil {
		return nil
	}
	delete(r.pending, k)
	for len(r.order) > 0 && r.pending[r.order[0]] == nil {
		r.order = r.order[1:]
	}
	return f.texts
}

// read reads the text at addr now, limit bytes at most.
func (r *reader) read(p Param, s *perfevent.Sample, addr uint64, limit int) []byte {
	text := func(tid uint32) []byte {
		if p.Vector {
			return r.memory.appendVector(nil, int(tid), addr)
		}
		return r.memory.appendString(nil, int(tid), addr, limit)
	}
	b := text(s.TID)
	if len(b) == 0 && s.PID != s.TID {
		// The thread has ended, and its process may go on.
		b = text(s.PID)
	}
	return b
}

// onStack finds the text at addr in the sample's copy of the stack, nil if it is
// not there as a whole, or longer than limit.
func (r *reader) onStack(s *perfevent.Sample, addr uint64, limit int) []byte {
	sp, ok := register(s, r.sp)
	if !ok {
		return nil
	}
	from := addr - sp
	if from >= uint64(len(s.Stack)) {
		return nil
	}
	b := s.Stack[from:]
	end := bytes.IndexByte(b[:min(len(b), limit)], 0)
	if end < 0 {
		return nil
	}
	return bytes.Clone(b[:end+1])
}

// uint64At reads the word at offset, 0 where the record is too short.
func uint64At(raw []byte, offset int) uint64 {
	if len(raw) < offset+8 {
		return 0
	}
	return binary.LittleEndian.Uint64(raw[offset:])
}

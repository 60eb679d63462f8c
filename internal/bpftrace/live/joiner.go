package live

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/ringtap/ringtap/ftrace"
)

// joiner finds the record of an event probe for each sample of the same tracepoint.
//
// A tracepoint calls perf's handler first and then the event probe's. So in one context of one
// thread, samples and records alternate in time: sample, record, sample, record. Samples and records
// in between belong to another context, an interrupt.
//
// The record for a sample is the first record of its context that is not earlier. But in these cases
// it may belong to another sample, and counts as lost:
//
//   - The buffer has lost records in between.
//   - The CPU has recorded an event in between that is possible only after the hit.
//   - Much time has passed.
//
// The kernel leaves out records in interrupts that come while it handles another event probe, and
// does not report that. Samples come in the order of time.
type joiner struct {
	queues map[hitContext][]record
	cpus   map[int]*cpuRecords
	until  uint64 // all records up to this time are here, except those that CPUs were just writing
	forgot uint64 // records up to this time were forgotten: too many waited
	bytes  int    // of the records
	space  []byte // for copies of records
}

// hitContext is the context of a hit. Hits of an event in one context come one after the other.
type hitContext struct {
	event  int
	thread uint32 // thread ID, 0 for the idle thread of a CPU
	cpu    uint32 // the CPU of an idle thread, 0 for other threads
	level  uint8  // flags of the record that say in which interrupt it was made, 0 for none
}

// record is a record that waits for its sample.
type record struct {
	time uint64
	cpu  int
	raw  []byte
}

// cpuRecords is what is known of the records of a CPU.
type cpuRecords struct {
	latest uint64 // time of the latest record
	gaps   []gap
	order  []level // of the records
}

// level is how deep in interrupts a record was made: 0 is a thread.
type level struct {
	time  uint64
	depth uint8
}

// gap is a time in which a CPU has lost records: from the record before them to the one after them.
type gap struct{ from, to uint64 }

// place is where and when a sample was taken.
type place struct {
	hitContext
	on   int // CPU
	time uint64
}

// Flags of a record's common_flags (include/linux/trace_events.h, enum trace_flag_type).
const (
	flagHardIRQ = 0x08
	flagSoftIRQ = 0x10
	flagNMI     = 0x40
)

// contextOf returns the context of a record, which begins with common_type, common_flags,
// common_preempt_count and common_pid.
func contextOf(event int, cpu uint32, raw []byte) hitContext {
	c := hitContext{event: event}
	if len(raw) < 8 {
		return c
	}
	c.level = raw[2] & (flagHardIRQ | flagSoftIRQ | flagNMI)
	if c.thread = binary.NativeEndian.Uint32(raw[4:]); c.thread == 0 {
		c.cpu = cpu
	}
	return c
}

// depth returns how deep in interrupts the context is: 0 is a thread.
func (c *hitContext) depth() uint8 {
	switch {
	case c.level&flagNMI != 0:
		return 3
	case c.level&flagHardIRQ != 0:
		return 2
	case c.level&flagSoftIRQ != 0:
		return 1
	}
	return 0
}

// Sizes in bytes: the bound of the records that wait, the assumed overhead of one record, and the size
// of a buffer for copies.
const (
	maxWaiting  = 64 << 20
	recordBytes = 64
	spaceBytes  = 64 << 10
)

// add adds a record. The records of one CPU come in the order of time.
func (j *joiner) add(e *ftrace.Entry) {
	if j.queues == nil {
		j.queues, j.cpus = make(map[hitContext][]record), make(map[int]*cpuRecords)
	}
	cpu := j.cpus[e.CPU]
	if cpu == nil {
		cpu = &cpuRecords{}
		j.cpus[e.CPU] = cpu
	}
	if e.Lost > 0 {
		cpu.gaps = append(cpu.gaps, gap{cpu.latest, e.Time})
	}
	cpu.latest = e.Time
	if j.bytes > maxWaiting {
		clear(j.queues)
		j.bytes, j.forgot = 0, e.Time
		j.forget(e.Time)
	}
	if len(j.space)+len(e.Raw) > cap(j.space) {
		j.space = make([]byte, 0, max(spaceBytes, len(e.Raw)))
	}
	from := len(j.space)
	j.space = append(j.space, e.Raw...)
	c := contextOf(e.Type(), uint32(e.CPU), e.Raw)
	cpu.order = append(cpu.order, level{e.Time, c.depth()})
	j.queues[c] = append(j.queues[c], record{e.Time, e.CPU, j.space[from:len(j.space):len(j.space)]})
	j.bytes += recordBytes + len(e.Raw)
}

// read notes that all records up to the time until are here. It drops the records from before handled, because
// all samples from before that time have been handled.
func (j *joiner) read(until, handled uint64) {
	j.until = until
	for c, queue := range j.queues {
		j.keep(c, queue, handled)
	}
	j.forget(handled)
}

// forget drops the gaps and levels of all CPUs from before a time.
func (j *joiner) forget(before uint64) {
	for _, cpu := range j.cpus {
		cpu.gaps = slices.DeleteFunc(cpu.gaps, func(g gap) bool { return g.to <= before })
		cpu.order = slices.Delete(cpu.order, 0, cpu.since(before))
	}
}

// since returns the index of the first record of a CPU that is not earlier.
func (c *cpuRecords) since(time uint64) int {
	n, _ := slices.BinarySearchFunc(c.order, time, func(l level, time uint64) int { return cmp.Compare(l.time, time) })
	return n
}

// keep drops the records of a context from before a time, and returns the remaining ones.
func (j *joiner) keep(c hitContext, queue []record, from uint64) []record {
	old := 0
	for old < len(queue) && queue[old].time < from {
		j.bytes -= recordBytes + len(queue[old].raw)
		old++
	}
	if old == len(queue) {
		delete(j.queues, c)
		return nil
	}
	if old > 0 {
		queue = queue[old:]
		j.queues[c] = queue
	}
	return queue
}

// answer says whether the record for a sample was found.
type answer uint8

// The answers.
const (
	found  answer = iota
	lost          // there is none
	notYet        // it may still come
)

// maxBehind is how long after its sample a record may come. It takes a microsecond, or as long as an
// interrupt in between.
const maxBehind = 20 * time.Millisecond

// find returns the record of the hit at p. same reports whether a record has the same
// fields as the hit's sample.
func (j *joiner) find(p place, same func(raw []byte) bool) ([]byte, answer) {
	queue := j.keep(p.hitContext, j.queues[p.hitContext], p.time)
	switch {
	case p.time <= j.forgot:
		return nil, lost
	case len(queue) > 0:
		first := queue[0]
		if first.time > p.time+uint64(maxBehind) || j.isOver(&p, first.time) || j.lost(p.on, p.time, first.time) ||
			j.lost(first.cpu, p.time, first.time) || !same(first.raw) {
			return nil, lost
		}
		j.keep(p.hitContext, queue, first.time+1)
		return first.raw, found
	case j.lost(p.on, p.time, p.time+1), j.until > p.time+uint64(maxBehind):
		return nil, lost
	}
	return nil, notYet
}

// isOver reports whether the hit at p was over before a time. It was if its CPU has recorded another event
// since, other than in an interrupt of the hit.
func (j *joiner) isOver(p *place, before uint64) bool {
	c := j.cpus[p.on]
	if c == nil {
		return false
	}
	depth := p.depth()
	for _, l := range c.order[c.since(p.time):] {
		if l.time >= before {
			return false
		}
		if l.depth <= depth {
			return true
		}
	}
	return false
}

// lost reports whether a CPU may have lost records between a sample and the record that may be its own.
func (j *joiner) lost(cpu int, sample, record uint64) bool {
	c := j.cpus[cpu]
	return c != nil && slices.ContainsFunc(c.gaps, func(g gap) bool { return g.from < record && sample < g.to })
}

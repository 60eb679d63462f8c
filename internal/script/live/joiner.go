package live

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/ringtap/ringtap/ftrace"
)

// joiner finds the records of event probes for the samples of the tracepoints that they are on.
//
// A tracepoint calls perf's handler first and then the event probe's, so that in one context of one
// thread a sample and its record take turns in time: sample, record, sample, record. What comes in
// between is of another context, which is an interrupt. The record for a sample is the first of its
// context that is not earlier, unless that may be another one's: the buffer has lost records in
// between, or the CPU has done what only happens after the hit, or much time has passed. The kernel
// says nothing of records that it leaves out, which it does in interrupts that come while it handles
// another event probe. Samples come in the order of time.
type joiner struct {
	queues map[hitContext][]record
	cpus   map[int]*cpuRecords
	until  uint64 // what was recorded up to this time is here, but for what CPUs were just writing
	forgot uint64 // records up to this time were forgotten: too many waited
	bytes  int    // of the records
	space  []byte // for copies of records
}

// hitContext is where a hit happened: hits of an event in one context come one after the other.
type hitContext struct {
	event  int
	thread uint32 // 0 is the idle thread,
	cpu    uint32 // of this CPU
	level  uint8  // of interrupts
}

// record is a record that waits for its sample.
type record struct {
	time uint64
	cpu  int
	raw  []byte
}

// cpuRecords is what is known of the records of a CPU.
type cpuRecords struct {
	latest uint64 // time of a record
	gaps   []gap
	order  []level // of the records
}

// level is how deep in interrupts a record was made: 0 is a thread.
type level struct {
	time  uint64
	depth uint8
}

// gap is a time in which a CPU has lost records: from one before them to one after them.
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

// depth is how deep in interrupts the context is.
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

// Bounds of the records that wait, in bytes, and of what one is taken for besides its content.
const (
	maxWaiting  = 64 << 20
	recordBytes = 64
	spaceBytes  = 64 << 10
)

// add adds a record. Those of a CPU come in the order of time.
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

// read notes that all records up to a time are here, and drops those of samples before another time, which
// don't come any more.
func (j *joiner) read(until, handled uint64) {
	j.until = until
	for c, queue := range j.queues {
		j.keep(c, queue, handled)
	}
	j.forget(handled)
}

// forget drops what CPUs have done before a time.
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

// keep drops the records of a context from before a time.
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

// find returns the record for a sample, with which it must have the same fields.
func (j *joiner) find(of place, same func(raw []byte) bool) ([]byte, answer) {
	queue := j.keep(of.hitContext, j.queues[of.hitContext], of.time)
	switch {
	case of.time <= j.forgot:
		return nil, lost
	case len(queue) > 0:
		first := queue[0]
		if first.time > of.time+uint64(maxBehind) || j.isOver(&of, first.time) || j.lost(of.on, of.time, first.time) ||
			j.lost(first.cpu, of.time, first.time) || !same(first.raw) {
			return nil, lost
		}
		j.keep(of.hitContext, queue, first.time+1)
		return first.raw, found
	case j.lost(of.on, of.time, of.time+1), j.until > of.time+uint64(maxBehind):
		return nil, lost
	}
	return nil, notYet
}

// isOver tells whether a hit was over before a time: its CPU recorded something else in a context that is
// not an interrupt of the hit's.
func (j *joiner) isOver(of *place, before uint64) bool {
	c := j.cpus[of.on]
	if c == nil {
		return false
	}
	depth := of.depth()
	for _, l := range c.order[c.since(of.time):] {
		if l.time >= before {
			return false
		}
		if l.depth <= depth {
			return true
		}
	}
	return false
}

// lost tells whether a CPU may have lost records between a sample and the record that may be its own.
func (j *joiner) lost(cpu int, sample, record uint64) bool {
	c := j.cpus[cpu]
	return c != nil && slices.ContainsFunc(c.gaps, func(g gap) bool { return g.from < record && sample < g.to })
}

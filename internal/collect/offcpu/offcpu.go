// Package offcpu is the collector of the time that threads are not running, by the stack where they
// stopped.
package offcpu

import (
	"fmt"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the off-cpu collector. It counts how long threads were off the CPUs, by the stack
// with which they left. A wait lasts from the switch away from the thread until the switch to it.
// It is voluntary, or the thread was preempted.
//
// A wait's time counts in each window that it lasts, and the wait itself in the first one. The
// run's start and end cut waits off, and the notes say how much that is.
type Collector struct {
	opts    Options
	source  source
	roles   []role // one per sampling
	columns struct{ state, next, woken, flags *ftrace.Field }
	// irqExits are the kernel functions that run softirqs after an interrupt.
	irqExits []kernelCode

	threads map[uint32]*thread  // by TID: those seen in the run
	initial map[uint32]int      // TID to PID: threads of Watched and Group that were not seen yet
	found   *initialWaits       // where threads waited when the run started; nil if that was not read
	dying   map[uint32]struct{} // have ended, but must still leave their CPU
	lost    uint64              // when records were last lost; 0: never
	window  cuts                // of the current window
	run     cuts                // of earlier windows
}

// Options configures an off-cpu collector.
type Options struct {
	// Switch is the format of sched:sched_switch. It is nil if the caller may not read tracefs.
	// Then the kernel's switch records are used.
	Switch *ftrace.Format
	// waking is the format of sched:sched_waking; nil unless the user asked for wakers.
	waking *ftrace.Format
	Whole  bool // the whole system is watched
	// Blind are the CPUs whose switches from the idle task are not seen: see collect.BlindCPUs. Nil
	// means all CPUs.
	Blind []int
	// Watched are processes, and Group is the directory of a control group. Their threads count
	// even if they wait during the whole run. Threads, unless nil, are the only threads that count.
	Watched, Threads []int
	Group            string
	// Held is a command that ringtap has not started yet. Its wait does not count.
	Held   int
	min    time.Duration // shorter waits do not count
	Stacks stack.Stacks
	Host   process.Host
	// Waits makes the reader of threads that are already waiting when the run starts. If nil, these
	// waits have no stacks.
	Waits func(*process.Table) WaitReader
}

// source says where ringtap sees switches.
type source uint8

const (
	// fromTracepoint is sched:sched_switch: every switch, with stack and reason.
	fromTracepoint source = iota
	// fromCounter is the software event for switches, which needs no tracefs, and the kernel's
	// switch records.
	fromCounter
	// fromRecords is the switch records only, with stacks from a clock. It is all that users get
	// who may not sample the kernel.
	fromRecords
)

// The columns. Each count is one after its time.
const (
	voluntaryTime = iota
	voluntaryCount
	preemptedTime
	preemptedCount
)

var (
	_ table.Stateful = (*Collector)(nil)
	_ table.Starter  = (*Collector)(nil)
)

// New returns an off-cpu collector of a run that is about to start.
func New(opts Options) (*Collector, error) {
	c := &Collector{opts: opts, threads: make(map[uint32]*thread), dying: make(map[uint32]struct{})}
	if opts.Switch == nil {
		c.source = fromCounter
	} else {
		c.columns.state, c.columns.next = opts.Switch.Field("prev_state"), opts.Switch.Field("next_pid")
		if c.columns.state == nil || c.columns.next == nil {
			return nil, fmt.Errorf("this kernel's sched:sched_switch has no fields prev_state and next_pid")
		}
	}
	if opts.waking != nil {
		if c.columns.woken = opts.waking.Field("pid"); c.columns.woken == nil {
			return nil, fmt.Errorf("this kernel's sched:sched_waking has no field pid")
		}
		c.columns.flags = opts.waking.Field("common_flags")
		c.irqExits = irqExitsOf(opts.Host)
	}
	if opts.Held != 0 {
		c.threads[uint32(opts.Held)] = &thread{state: running}
	}
	c.initial = c.watched(opts.Watched)
	c.roles = c.chooseRoles()
	return c, nil
}

// sees reports whether the tracepoint shows when threads start to run, on some CPUs at least. If
// only a part of the system is watched, it does not: the previous thread may belong to someone
// else.
func (c *Collector) sees() bool {
	return c.source == fromTracepoint && c.opts.Whole && c.opts.Blind != nil
}

// Plan returns the tracepoint of each switch, or its replacement. If that does not show when
// threads start to run, the kernel's switch records do. They are two records per switch, and cost
// about as much as a stack.
func (c *Collector) Plan() table.Plan {
	stacks := c.opts.Stacks
	if c.source != fromRecords {
		stacks.Budget = switchBudget
		if stacks.Copy = systemCopy; !c.opts.Whole {
			stacks.Copy = processCopy
		}
	}
	p := table.Plan{
		Name: "off-cpu", Stacks: stacks, Ordered: true, Switches: true,
		Metrics: []profile.Metric{
			{Name: "OffCPUTime", Type: "off-cpu", Unit: "nanoseconds", Scale: 1},
			{Name: "OffCPUCount", Type: "waits", Unit: "counts", Scale: 1},
			{Name: "PreemptedTime", Type: "preempted", Unit: "nanoseconds", Scale: 1},
			{Name: "PreemptedCount", Type: "preemptions", Unit: "counts", Scale: 1},
		},
	}
	if c.sees() {
		p.Switches, p.SwitchCPUs = len(c.opts.Blind) > 0, c.opts.Blind
	}
	for _, role := range c.roles {
		s := c.sampling(role)
		if role != idleLeft {
			p.Stacks.Prepare(&s)
			s.WakeupEvents = 0 // a thread that has left its CPU can be read later
		}
		p.Samplings = append(p.Samplings, s)
	}
	p.Event = p.Samplings[0].Event.String()
	if c.source == fromRecords {
		p.Stacks.Interpreted = false // the sampled threads are running
	}
	p.Switched = c.changes
	return p
}

// changes is table.Plan.Switched.
func (c *Collector) changes(sampling int, s *perfevent.Sample) (leaves bool, next uint32) {
	role := c.roles[sampling]
	if role == threadWoken {
		return false, 0
	}
	if c.source == fromTracepoint {
		if n, ok := c.columns.next.Int(s.Raw); ok {
			next = uint32(n)
		}
	}
	return role == threadLeft, next
}

// switchBudget is how many bytes of stack are copied per second. Each kilobyte makes a switch a
// quarter of a microsecond slower. A database with 30,000 switches a second and stacks of 8 KiB
// needs this much to have whole stacks. With a quarter of it, 70% of them were cut.
const switchBudget = 256 << 20

// The initial size of copies. A system may switch 100,000 times a second from the start, and stacks
// that are cut short then stay so.
const (
	systemCopy  = 1 << 10
	processCopy = 4 << 10
)

// role says what a sampling is for.
type role uint8

const (
	threadLeft  role = iota // a thread leaves a CPU
	idleLeft                // the idle task leaves a CPU; its stack is not worth its cost
	threadWoken             // the running thread wakes another one
	threadRuns              // where a running thread is
)

// chooseRoles returns the samplings of the source.
func (c *Collector) chooseRoles() []role {
	if c.source == fromRecords {
		return []role{threadRuns}
	}
	roles := []role{threadLeft}
	if c.sees() {
		roles = append(roles, idleLeft)
	}
	if c.source == fromTracepoint && c.opts.waking != nil {
		roles = append(roles, threadWoken)
	}
	return roles
}

// clockFrequency is how many times a second the stack of a running thread is taken, if switches
// have no stacks.
const clockFrequency = 499

// sampling returns the sampling of a role, without its stacks.
func (c *Collector) sampling(role role) perfevent.Sampling {
	switch {
	case role == threadRuns:
		return perfevent.Sampling{Event: perfevent.Software(perfevent.SoftwareTaskClock), Frequency: clockFrequency, ExcludeKernel: true}
	case role == threadWoken:
		return perfevent.Sampling{Event: perfevent.Tracepoint(uint64(c.opts.waking.ID), "sched:sched_waking"), Period: 1, Raw: true}
	case c.source == fromCounter:
		return perfevent.Sampling{Event: perfevent.Software(perfevent.SoftwareContextSwitches), Period: 1}
	}
	s := perfevent.Sampling{Event: perfevent.Tracepoint(uint64(c.opts.Switch.ID), "sched:sched_switch"), Period: 1, Raw: true}
	switch {
	case role == idleLeft:
		s.Filter = "prev_pid == 0"
	case c.opts.Whole:
		s.Filter = "prev_pid != 0"
	}
	return s
}

// Skip keeps every sample.
func (c *Collector) Skip(*perfevent.Sample) bool { return false }

// Fold starts the wait of the thread that leaves a CPU, and ends the wait of the next thread.
func (c *Collector) Fold(rows *table.Rows, sampling int, s *perfevent.Sample) {
	switch role := c.roles[sampling]; {
	case role == threadWoken:
		c.woken(rows, s)
	case role == threadRuns:
		c.seen(rows, s)
	case c.source == fromCounter:
		if c.mayWait(rows, s.PID, s.TID) {
			c.waits(rows, s.PID, s.TID, s.Time, voluntaryTime).row = rows.Of(s)
		}
	default:
		c.switched(rows, s)
	}
}

// switched handles a sample of the tracepoint.
func (c *Collector) switched(rows *table.Rows, s *perfevent.Sample) {
	if c.opts.Whole {
		if next, ok := c.columns.next.Int(s.Raw); ok && next > 0 {
			c.goesOn(rows, noPID, uint32(next), s.Time)
		}
	}
	state, ok := c.columns.state.Int(s.Raw)
	switch {
	case !ok || !c.mayWait(rows, s.PID, s.TID):
	case state&taskDead != 0:
		c.settle(rows, s.PID, s.TID)
		c.forgetThread(s.TID)
	case state&taskWaits != 0:
		c.waits(rows, s.PID, s.TID, s.Time, voluntaryTime).row = rows.Of(s)
	default:
		c.waits(rows, s.PID, s.TID, s.Time, preemptedTime).row = rows.Of(s)
	}
}

// Bits of prev_state in the tracepoint (include/linux/sched.h and include/trace/events/sched.h).
// They say why a thread does not run, and that it never will.
const (
	taskWaits = 0xff
	taskDead  = 0x10 | 0x20
)

// Follow handles switches and threads that start and end.
func (c *Collector) Follow(rows *table.Rows, record perfevent.Record) {
	switch r := record.(type) {
	case *perfevent.Switch:
		if r.Time >= rows.Begin() {
			c.switchRecord(rows, r)
		}
	case *perfevent.Fork:
		if r.Time >= rows.Begin() && c.counts(r.TID) {
			c.forgetThread(r.TID)
			c.threads[r.TID] = &thread{state: running}
		}
	case *perfevent.Exit:
		c.ended(rows, r)
	case *perfevent.Lost:
		c.lost = r.Time
	}
}

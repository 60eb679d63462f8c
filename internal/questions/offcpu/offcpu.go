// Package offcpu is the collector of the time that threads are off the CPUs, by the stack
// where they stopped running.
package offcpu

import (
	"fmt"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the off-cpu collector: how long threads were off the CPUs, from the
// switch away from them to the switch to them, by the stack that they left with.
// A wait is voluntary, or the thread was preempted and could have gone on.
//
// A wait counts on the windows that it lasts: its time in each of them, the wait
// itself in the first. At the edges of the run it counts up to them, and the notes
// say how much that is.
type Collector struct {
	opts    Options
	source  source
	roles   []role // of the samplings, in their order
	columns struct{ state, next, woken, flags *ftrace.Field }
	// irqExits are the kernel's functions that run softirqs after an interrupt.
	irqExits []kernelCode

	threads map[uint32]*thread  // by id: those that were seen in the run
	initial map[uint32]int      // process by thread: of Watched and Group, those that were not
	found   *initialWaits       // where threads waited as the run started; nil if that was not read
	dying   map[uint32]struct{} // ended, and still to leave their CPU for good
	lost    uint64              // when records were lost last; 0: never
	window  cuts                // of the window under way
	run     cuts                // of those before it
}

// Options is what an off-cpu collector is to do.
type Options struct {
	// Switch is the format of sched:sched_switch. Nil where the caller may not
	// read tracefs: then the kernel's own records of switches are used.
	Switch *ftrace.Format
	// Waking is the format of sched:sched_waking; nil unless wakers are asked for.
	Waking *ftrace.Format
	Whole  bool // the whole system is watched
	// Blind are the CPUs on which switches from the idle task are not seen, as
	// questions.BlindCPUs finds them; nil is all.
	Blind []int
	// Watched are processes, and Group is the directory of a control group, whose
	// threads count even if they wait during the whole run; Threads, unless nil, are the
	// only threads that count.
	Watched, Threads []int
	Group            string
	// Held is a command that has not begun yet: it waits for nothing but us.
	Held   int
	Min    time.Duration // shorter waits are left out
	Stacks stack.Stacks
	Host   process.Host
	// Waits makes what reads the stacks of threads that wait when the run starts. If nil,
	// these waits have no stacks.
	Waits func(*process.Table) WaitReader
}

// source is where switches are seen.
type source uint8

const (
	// fromTracepoint is sched:sched_switch: every switch with its stack, and why.
	fromTracepoint source = iota
	// fromCounter is the software event of the same, for which one need not read
	// tracefs, and the kernel's records of switches.
	fromCounter
	// fromRecords is the records of switches alone, with the stacks of a clock: all
	// that there is for those who may not look into the kernel.
	fromRecords
)

// The columns. The count is beside the time.
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

// New makes an off-cpu collector of a run that is about to begin.
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
	if opts.Waking != nil {
		if c.columns.woken = opts.Waking.Field("pid"); c.columns.woken == nil {
			return nil, fmt.Errorf("this kernel's sched:sched_waking has no field pid")
		}
		c.columns.flags = opts.Waking.Field("common_flags")
		c.irqExits = irqExitsOf(opts.Host)
	}
	if opts.Held != 0 {
		c.threads[uint32(opts.Held)] = &thread{state: running}
	}
	c.initial = c.watched(opts.Watched)
	c.roles = c.chooseRoles()
	return c, nil
}

// sees says that the tracepoint tells when threads go on, on some CPUs at least. For
// a part of the system it does not: the thread before may be another's.
func (c *Collector) sees() bool {
	return c.source == fromTracepoint && c.opts.Whole && c.opts.Blind != nil
}

// Plan is the tracepoint of each switch, at every hit, or what is in its place. Where
// it does not tell when threads go on, the kernel's records of switches do: two more
// for each, which cost about as much as a stack.
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
			s.Soon = false // a thread that has left its CPU stands still
		}
		p.Samplings = append(p.Samplings, s)
	}
	p.Event = p.Samplings[0].Event.String()
	if c.source == fromRecords {
		p.Stacks.Moments = false // samples are of threads that run
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

// switchBudget is how many bytes a second of stacks are copied at switches. Each
// kilobyte makes a switch a quarter of a microsecond slower. A database that switches
// 30,000 times a second, eight kilobytes deep, needs this much to have whole stacks: a
// quarter of it left 70 % of them cut.
const switchBudget = 256 << 20

// The copies to begin with: a system may switch 100,000 times a second from the first
// moment on, and what is cut then is cut.
const (
	systemCopy  = 1 << 10
	processCopy = 4 << 10
)

// role is what a sampling is for.
type role uint8

const (
	threadLeft  role = iota // a thread leaves a CPU
	idleLeft                // the idle task does, whose stack is not worth its time
	threadWoken             // a thread is woken, by the one that runs
	threadRuns              // where a thread is while it runs
)

// chooseRoles chooses the samplings of the source.
func (c *Collector) chooseRoles() []role {
	if c.source == fromRecords {
		return []role{threadRuns}
	}
	roles := []role{threadLeft}
	if c.sees() {
		roles = append(roles, idleLeft)
	}
	if c.source == fromTracepoint && c.opts.Waking != nil {
		roles = append(roles, threadWoken)
	}
	return roles
}

// clockFrequency is how often a second the stack of a running thread is taken
// where there are no stacks of switches.
const clockFrequency = 499

// sampling is that of a role, without its stacks.
func (c *Collector) sampling(role role) perfevent.Sampling {
	switch {
	case role == threadRuns:
		return perfevent.Sampling{Event: perfevent.Software(perfevent.SoftwareTaskClock), Frequency: clockFrequency, ExcludeKernel: true}
	case role == threadWoken:
		return perfevent.Sampling{Event: perfevent.Tracepoint(uint64(c.opts.Waking.ID), "sched:sched_waking"), Period: 1, Raw: true}
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

// Skip takes every sample.
func (c *Collector) Skip(*perfevent.Sample) bool { return false }

// Fold begins the wait of the thread that is left, and ends the one of the thread
// that goes on.
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

// switched is a sample of the tracepoint.
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

// Bits of prev_state, as the tracepoint reports them (include/linux/sched.h and
// include/trace/events/sched.h): why a thread does not run, and that it never
// will.
const (
	taskWaits = 0xff
	taskDead  = 0x10 | 0x20
)

// Follow sees threads go on, be born and end.
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

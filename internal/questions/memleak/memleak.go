// Package memleak is the collector of memory that was allocated and not freed, by programs
// or by the kernel.
package memleak

import (
	"time"

	"github.com/ringtap/ringtap/internal/allocator"
	"github.com/ringtap/ringtap/internal/pair"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the memleak collector: user memory that was allocated and is not free,
// by the stack that allocated it.
//
// Of calls within each other the outermost counts. What was allocated before the
// run is not known, and its being freed changes nothing. A child that is forked
// begins with nothing: that it has a copy of its parent's memory is no allocation of
// its own. A program that another replaces by exec(2) leaves nothing either; what a
// process holds when it ends counts in the window in which that is and in that of the
// whole run, if Ended.
//
// Of interpreted programs that allocate fast, the interpreted functions of some allocations are read. They
// stand for those of others: see stratum.
type Collector struct {
	Sources []*allocator.Source
	Stacks  stack.Stacks
	// Ended has what a process held when it ended counted once more.
	Ended bool

	options leakOptions
	memory  *memory
	sampler *sampler
	spaces  map[uint32]*holdings // by process
	calls   *pair.Calls[*leakCall]
	spare   []*leakCall
	// unread are allocations whose address was where it could not be read.
	unread   uint64
	goHeaps  *goHeaps // nil if no process is watched
	reserved reserved
	golang   map[uint32]goProcess // by pid
	lost     bool                 // records, frees among them perhaps
}

// Options is how allocations are counted.
type Options struct {
	// MissedFrees drops an allocation where another is made at its address: the
	// free in between was not seen. Else it stays for good.
	MissedFrees bool
	// Older leaves out what has not stood for so long.
	Older time.Duration
	// Every samples allocations: one of size bytes is kept with the probability
	// 1-exp(-size/Every), and counts for as many as it stands for. 0 keeps all.
	Every uint64
	// Host is the machine that the processes are of.
	Host process.Host
}

var (
	_ table.Stateful = (*Collector)(nil)
	_ table.Starter  = (*Collector)(nil)
)

// Starting looks for Go programs.
func (c *Collector) Starting(rows *table.Rows) {
	if c.goHeaps != nil {
		c.goHeaps.look(rows)
	}
}

// Started reads what Go programs have on their heaps.
func (c *Collector) Started(*table.Rows) {
	if c.goHeaps != nil {
		c.goHeaps.start()
	}
}

// New makes a memleak collector of an allocator's sources.
func New(sources []*allocator.Source, stacks stack.Stacks, o Options) *Collector {
	return &Collector{
		Sources: sources, Stacks: stacks,
		options: leakOptions{Options: o},
		memory:  newMemory(), sampler: newSampler(o.Every),
		spaces: make(map[uint32]*holdings), calls: pair.New[*leakCall](), golang: make(map[uint32]goProcess),
	}
}

// Close frees the memory that the collector has. It must not be used afterwards.
func (c *Collector) Close() error { return c.memory.close() }

// reserved counts the mappings of a run that are no leaks.
type reserved struct {
	stacks, stackBytes uint64 // of threads
	areas, areaBytes   uint64 // of address space
	goBytes            uint64 // that Go's runtime mapped for its heap
}

// Misses is what was not seen of a run.
type Misses struct {
	Frees  uint64 // allocations that were made where one was that had not been freed
	Unread uint64 // allocations whose addresses could not be read
	Unkept uint64 // allocations that there was no memory for
	Lost   bool   // records were lost, frees among them perhaps
}

// Missed returns what was not seen.
func (c *Collector) Missed() Misses {
	return Misses{c.options.missed, c.unread, c.options.unkept, c.lost}
}

// Reading returns how the interpreted functions of the last report are known.
func (c *Collector) Reading() Reading { return c.options.reading }

// throughCopy is how much of the stack is copied where a function has returned that
// writes the address through a pointer: that mostly points to a variable there.
const throughCopy = 4 << 10

// Plan is a sampling for each source, every hit of which is a sample.
func (c *Collector) Plan() table.Plan {
	stacks := c.Stacks.Copying(stack.StormCopy)
	stacks.Entry, stacks.Native = true, true
	for _, source := range c.Sources {
		stacks.Entry = stacks.Entry && (source.Role != probe.Enter || source.AtEntry)
	}
	p := table.Plan{
		Name: "memleak", Event: "allocations", Stacks: stacks, Ordered: true, Standing: true,
		Metrics: leakMetrics(""),
	}
	for _, source := range c.Sources {
		s := source.Sampling()
		switch {
		case source.Role == probe.Enter:
			stacks.Prepare(&s)
			s.UserRegs |= argumentMask(mapArguments)
		case source.Role == probe.Hit:
			s.UserRegs = argumentMask(2)
		case source.Through:
			s.UserRegs, s.UserStack = 1<<resultRegister|source.Written(), throughCopy
		default:
			s.UserRegs = 1 << resultRegister
		}
		source.Site.Prepare(&s)
		if source.Large {
			p.Urgent = append(p.Urgent, len(p.Samplings))
		}
		p.Samplings = append(p.Samplings, s)
	}
	return p
}

// leakMetrics are the columns, with a word before their names.
func leakMetrics(of string) []profile.Metric {
	return []profile.Metric{
		{Name: of + "LeakedSize", Type: "leaked", Unit: "bytes", Scale: 1},
		{Name: of + "LeakedCount", Type: "allocations", Unit: "counts", Scale: 1},
	}
}

// Fallback knows no other way to see allocations.
func (c *Collector) Fallback(error) (note string, ok bool) { return "", false }

// Skip leaves out programs of another machine, whose arguments are elsewhere.
func (c *Collector) Skip(s *perfevent.Sample) bool { return s.Regs.ABI != stack.ABI64 }

// Fold takes a call that begins or ends.
func (c *Collector) Fold(rows *table.Rows, sampling int, s *perfevent.Sample) {
	if rows.Own(s.PID) {
		return
	}
	c.options.begin = rows.Begin()
	source := c.Sources[sampling]
	task, slot := source.Site.Place(s)
	if source.Role == probe.Return {
		if ended, ok := c.calls.Leave(task, 0, slot, s.Time); ok {
			if ended.Payload.inner {
				c.passOn(task, slot, ended.Payload, s)
			} else {
				c.ended(rows, s, ended.Payload)
			}
			c.recycle(ended.Payload)
		}
		return
	}
	f := source.Called(s.IP)
	if f == nil {
		return
	}
	inner := c.inside(task, slot, f, s.Time)
	if f.Returns() {
		call := c.call(f, inner)
		if !inner {
			c.begun(rows, s, call)
		}
		c.calls.Enter(task, pair.Call[*leakCall]{Slot: slot, Start: s.Time, CPU: s.CPU, Payload: call})
	} else if !inner {
		c.given(rows, s, f)
	}
}

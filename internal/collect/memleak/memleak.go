// Package memleak is the collector of memory that programs or the kernel allocated and did not
// free.
package memleak

import (
	"time"

	"github.com/ringtap/ringtap/internal/collect/allocator"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/probe/pair"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the memleak collector: user memory that was allocated and not freed, by the stack
// that allocated it.
//
// If allocator calls are nested, the outermost one counts. Allocations from before the run are
// unknown, and freeing them changes nothing. After a fork, the child's copy of its parent's memory
// does not count for the child. Memory is forgotten at exec(2). If Ended is set, the memory that a
// process holds when it ends counts in that window and in the whole run's.
//
// If interpreted programs allocate fast, ringtap reads the interpreted functions of only some
// allocations. They represent the other ones: see stratum.
type Collector struct {
	sources []*allocator.Source
	stacks  stack.Stacks
	// Ended counts what a process held when it ended.
	Ended bool

	options leakOptions
	memory  *memory
	sampler *sampler
	spaces  map[uint32]*holdings // by PID
	calls   *pair.Calls[*leakCall]
	spare   []*leakCall
	// unread counts allocations whose address could not be read.
	unread   uint64
	goHeaps  *goHeaps // nil if no process is watched
	reserved reserved
	golang   map[uint32]goProcess // by pid
	lost     bool                 // records were lost, and some may be frees
}

// Options says how allocations are counted.
type Options struct {
	// MissedFrees drops an allocation if a later one has the same address: the free in between was
	// missed. Otherwise it counts as leaked forever.
	MissedFrees bool
	// Older leaves out memory that was allocated less than this long ago.
	Older time.Duration
	// Every samples allocations: an allocation of size bytes is kept with probability
	// 1-exp(-size/Every), and also counts for the ones that were not kept. 0 keeps all.
	Every uint64
	// host is the machine of the processes.
	host process.Host
}

var (
	_ table.Stateful = (*Collector)(nil)
	_ table.Starter  = (*Collector)(nil)
)

// Starting finds the Go programs among the watched processes.
func (c *Collector) Starting(rows *table.Rows) {
	if c.goHeaps != nil {
		c.goHeaps.look(rows)
	}
}

// Started reads the heaps of the Go programs.
func (c *Collector) Started(*table.Rows) {
	if c.goHeaps != nil {
		c.goHeaps.start()
	}
}

// New returns a memleak collector for an allocator's sources.
func New(sources []*allocator.Source, stacks stack.Stacks, o Options) *Collector {
	return &Collector{
		sources: sources, stacks: stacks,
		options: leakOptions{Options: o},
		memory:  newMemory(), sampler: newSampler(o.Every),
		spaces: make(map[uint32]*holdings), calls: pair.New[*leakCall](), golang: make(map[uint32]goProcess),
	}
}

// Close frees the collector's memory. The collector must not be used afterwards.
func (c *Collector) Close() error { return c.memory.close() }

// reserved counts the mappings of a run that do not count as leaks.
type reserved struct {
	stacks, stackBytes uint64 // of threads
	areas, areaBytes   uint64 // of address space
	goBytes            uint64 // that Go's runtime mapped for its heap
}

// Misses says what ringtap did not see in a run.
type Misses struct {
	frees  uint64 // allocations at an address whose previous allocation had not been freed
	unread uint64 // allocations whose addresses could not be read
	unkept uint64 // allocations that there was no memory for
	lost   bool   // records were lost, and some may be frees
}

// Missed returns what ringtap did not see.
func (c *Collector) Missed() Misses {
	return Misses{c.options.missed, c.unread, c.options.unkept, c.lost}
}

// Reading returns how much of the memory in the last report has interpreted functions that
// ringtap read, estimated or does not know.
func (c *Collector) Reading() Reading { return c.options.reading }

// throughCopy is how many bytes of the stack a sample at the return of a function such as
// posix_memalign has. Such a function stores the new memory's address through a pointer argument,
// which usually points to a variable in this part of the stack.
const throughCopy = 4 << 10

// Plan returns one sampling per source, with a sample at every hit.
func (c *Collector) Plan() table.Plan {
	stacks := c.stacks.Copying(stack.StormCopy)
	stacks.Entry, stacks.Native = true, true
	for _, source := range c.sources {
		stacks.Entry = stacks.Entry && (source.Role != probe.Enter || source.AtEntry)
	}
	p := table.Plan{
		Name: "memleak", Event: "allocations", Stacks: stacks, Ordered: true, Standing: true,
		Metrics: leakMetrics(""),
	}
	for _, source := range c.sources {
		s := source.Sampling()
		switch {
		case source.Role == probe.Enter:
			stacks.Prepare(&s)
			s.UserRegs |= argumentMask(mapArguments)
		case source.Role == probe.Hit:
			s.UserRegs = argumentMask(2)
		case source.Through:
			s.UserRegs, s.UserStack = resultMask()|source.Written(), throughCopy
		default:
			s.UserRegs = resultMask()
		}
		source.Site.Prepare(&s)
		if source.Large {
			p.Urgent = append(p.Urgent, len(p.Samplings))
		}
		p.Samplings = append(p.Samplings, s)
	}
	return p
}

// leakMetrics returns the columns. prefix is put before their names.
func leakMetrics(prefix string) []profile.Metric {
	return []profile.Metric{
		{Name: prefix + "LeakedSize", Type: "leaked", Unit: "bytes", Scale: 1},
		{Name: prefix + "LeakedCount", Type: "allocations", Unit: "counts", Scale: 1},
	}
}

// Fallback returns false: there is no other way to see allocations.
func (c *Collector) Fallback(error) (note string, ok bool) { return "", false }

// Skip leaves out programs of another architecture, which pass arguments differently.
func (c *Collector) Skip(s *perfevent.Sample) bool { return s.Regs.ABI != stack.ABI64 }

// Fold handles the start or the end of a call.
func (c *Collector) Fold(rows *table.Rows, sampling int, s *perfevent.Sample) {
	if rows.Own(s.PID) {
		return
	}
	c.options.begin = rows.Begin()
	source := c.sources[sampling]
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

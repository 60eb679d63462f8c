package memleak

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Kernel is the memleak collector of kernel memory. It counts memory that was given out and not
// given back, by the stack that allocated it. It covers kmalloc, slab caches, the page allocator
// and per-CPU memory.
//
// Pages for slab caches and large kmallocs are not counted again as pages; ringtap recognizes them
// by the stack. No tracepoint reports some frees: kfree_rcu in bulk, and pages that were split.
// Such memory counts until it is allocated again, when MissedFrees drops it.
type Kernel struct {
	Stacks stack.Stacks
	// prefix is put before the names of the columns.
	prefix string

	events  []kernelEvent
	symbol  func(address uint64) string
	backing map[uint64]bool // code addresses: whether the code allocates pages to give out parts of them
	options leakOptions
	memory  *memory
	sampler *sampler
	spaces  [kernelSpaces]*holdings
	lost    bool // records were lost, and some may be frees
}

// kernelSpace is a space in which addresses are unique.
type kernelSpace int

const (
	objects kernelSpace = iota
	pages               // by page frame number
	perCPU
	kernelSpaces
)

// kernelEvent is a tracepoint of an allocator.
type kernelEvent struct {
	KernelTracepoint
	format  *ftrace.Format
	pointer *ftrace.Field
	size    *ftrace.Field // nil if the event frees
}

// KernelTracepoint names a tracepoint of an allocator of the kernel.
type KernelTracepoint struct {
	system, Name string
	space        kernelSpace
	pointer      string
	sizes        []string // fields with the size; the first that exists counts; none: the event frees
}

// kernelTracepoints returns the tracepoints of include/trace/events/kmem.h and percpu.h. Kernels
// since Linux 6.1 lack the _node ones.
func kernelTracepoints() []KernelTracepoint {
	allocated := []string{"bytes_alloc"}
	return []KernelTracepoint{
		{"kmem", "kmalloc", objects, "ptr", allocated},
		{"kmem", "kmalloc_node", objects, "ptr", allocated},
		{"kmem", "kmem_cache_alloc", objects, "ptr", allocated},
		{"kmem", "kmem_cache_alloc_node", objects, "ptr", allocated},
		{"kmem", "mm_page_alloc", pages, "pfn", []string{"order"}},
		{"percpu", "percpu_alloc_percpu", perCPU, "ptr", []string{"bytes_alloc", "size"}},
		{"kmem", "kfree", objects, "ptr", nil},
		{"kmem", "kmem_cache_free", objects, "ptr", nil},
		{"kmem", "mm_page_free", pages, "pfn", nil},
		{"percpu", "percpu_free_percpu", perCPU, "ptr", nil},
	}
}

var _ table.Stateful = (*Kernel)(nil)

// readKernelFormats reads the tracepoints' formats, in the order of kernelTracepoints. The format
// is nil if this kernel lacks the tracepoint.
func readKernelFormats(tracefs *ftrace.FS) ([]*ftrace.Format, error) {
	var formats []*ftrace.Format
	for _, t := range kernelTracepoints() {
		format, err := tracefs.Format(t.system, t.Name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		formats = append(formats, format)
	}
	return formats, nil
}

// newKernel returns a memleak collector. formats are in the order of kernelTracepoints, nil for
// missing ones. symbol returns the kernel function at an address. If symbol is nil, pages of slab
// caches and the like count twice.
func newKernel(formats []*ftrace.Format, symbol func(address uint64) string, stacks stack.Stacks, o Options) (*Kernel, error) {
	c := &Kernel{
		Stacks: stacks, symbol: symbol, backing: make(map[uint64]bool),
		options: leakOptions{Options: o},
		memory:  newMemory(), sampler: newSampler(o.Every),
	}
	for i := range c.spaces {
		c.spaces[i] = newHoldings(&c.options, c.memory)
	}
	for i, t := range kernelTracepoints() {
		if formats[i] == nil {
			continue
		}
		e := kernelEvent{KernelTracepoint: t, format: formats[i], pointer: formats[i].Field(t.pointer)}
		for _, name := range t.sizes {
			if e.size == nil {
				e.size = formats[i].Field(name)
			}
		}
		if e.pointer == nil || e.size == nil && len(t.sizes) > 0 {
			return nil, fmt.Errorf("this kernel's %s:%s has no fields %s", t.system, t.Name, strings.Join(append(t.sizes, t.pointer), ", "))
		}
		c.events = append(c.events, e)
	}
	return c, nil
}

// Close frees the collector's memory. The collector must not be used afterwards.
func (c *Kernel) Close() error { return c.memory.close() }

// Missed returns what ringtap did not see.
func (c *Kernel) Missed() Misses {
	return Misses{frees: c.options.missed, unkept: c.options.unkept, lost: c.lost}
}

// Follow notes that records were lost.
func (c *Kernel) Follow(_ *table.Rows, record perfevent.Record) {
	if _, ok := record.(*perfevent.Lost); ok {
		c.lost = true
	}
}

// Plan returns one sampling per tracepoint, with a sample at every hit.
func (c *Kernel) Plan() table.Plan {
	stacks := c.Stacks.Copying(stack.StormCopy)
	p := table.Plan{Name: "memleak", Event: "kernel allocations", Stacks: stacks, Ordered: true, Standing: true, Metrics: leakMetrics(c.prefix)}
	for _, e := range c.events {
		name := e.system + ":" + e.Name
		s := perfevent.Sampling{Event: perfevent.Tracepoint(uint64(e.format.ID), name), Period: 1, Raw: true}
		if e.size != nil {
			stacks.Prepare(&s)
		}
		p.Samplings = append(p.Samplings, s)
	}
	return p
}

// Fallback returns false: there is no other way to see allocations.
func (c *Kernel) Fallback(error) (note string, ok bool) { return "", false }

// Skip keeps every sample: one process may free another one's memory.
func (c *Kernel) Skip(*perfevent.Sample) bool { return false }

// Fold handles an allocation or a free.
func (c *Kernel) Fold(rows *table.Rows, sampling int, s *perfevent.Sample) {
	c.options.begin = rows.Begin()
	e := &c.events[sampling]
	address, ok := e.pointer.Uint(s.Raw)
	if !ok || address == 0 || address == noPage && e.space == pages {
		return
	}
	if e.space == pages {
		address++ // page 0 exists
	}
	space := c.spaces[e.space]
	if e.size == nil {
		space.free(address)
		return
	}
	size, ok := e.size.Uint(s.Raw)
	if e.space == pages {
		size = uint64(os.Getpagesize()) << min(size, maxOrder)
	}
	if !ok || rows.Own(s.PID) || !c.sampler.keeps(size) || e.space == pages && c.backs(s) {
		return
	}
	space.add(rows, caller{row: rows.Of(s)}, address, size, c.options.clock(s.Time))
}

const (
	noPage   = ^uint64(0) // the page number of an allocation that failed
	maxOrder = 32         // more than any kernel's
)

// backers are functions that allocate pages to give out parts of them, which count separately. They
// belong to slab caches (mm/slub.c, mm/slab.c), kmalloc and per-CPU memory (mm/percpu-vm.c).
var backers = []string{
	"allocate_slab", "new_slab", "___slab_alloc", "__slab_alloc", "cache_grow_begin", "cache_alloc_refill",
	"___kmalloc_large_node", "__kmalloc_large_node", "kmalloc_large", "kmalloc_large_node", "kmalloc_order", "kmalloc_order_trace",
	"pcpu_alloc_pages", "pcpu_populate_chunk", "pcpu_create_chunk",
}

// backs reports whether the sample's pages were allocated by one of the backers.
func (c *Kernel) backs(s *perfevent.Sample) bool {
	if c.symbol == nil {
		return false
	}
	kernel, _ := callchain.Split(s.Callchain)
	return slices.ContainsFunc(kernel, func(address uint64) bool {
		backs, ok := c.backing[address]
		if !ok {
			name, _, _ := strings.Cut(c.symbol(address), ".")
			backs = slices.Contains(backers, strings.TrimSuffix(name, "_noprof"))
			c.backing[address] = backs
		}
		return backs
	})
}

// End adds the memory that is not free.
func (c *Kernel) End(rows *table.Rows, now uint64) {
	c.options.begin = rows.Begin()
	for _, space := range c.spaces {
		space.report(rows.Add, now)
		space.tidy(rows)
	}
}

// Bytes returns the memory of the collector.
func (c *Kernel) Bytes() int { return c.memory.bytes }

// Forget forgets everything: memory freed in the gap would count as leaked forever.
func (c *Kernel) Forget(uint64) {
	for i, space := range c.spaces {
		space.clear()
		c.spaces[i] = newHoldings(&c.options, c.memory)
	}
}

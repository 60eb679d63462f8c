package perfevent

// duplicates recognizes what arrives twice. While the events of a process's
// threads are being opened, a thread may be born to one whose events are open
// already: it inherits those, and then gets events of its own too. Everything
// that it and its children do is then recorded by both.
//
// Inherited events write under the id of the event that they were inherited
// from, so every record names its origin: the attachment to one thread. Both
// origins record the same, so each thread is bound to the origin that delivered
// first, and what comes from another is left out. That is done for each CPU and
// sampling, and the side-band, apart: a thread that is born half-way through its
// creator's events inherits those that were open by then only.
//
// On newer kernels that does not work for the software counters
// (see isShared): all samples of one hit carry the id of whichever event came
// first, and its time. There the time tells: one thread's samples at the same
// nanosecond are one hit. That the kernel is of that kind shows at the first
// hit that is recorded twice, before anything was left out wrongly.
//
// All this is only done when late threads were found.
type duplicates struct {
	ambiguous bool
	shared    bool                 // this kernel's software counters share ids
	bound     map[uint32][]binding // by tid
	ended     [1024]uint32         // the threads that ended last: something of them may still come, and their exit twice
	next      int                  // the place of ended that is used next
}

// binding is what a thread is bound to on a CPU for a sampling, and its last
// sample of a shared event.
type binding struct {
	cpu      uint32
	sampling int32 // sideBand; notAnEvent for all shared events together
	origin   int32
	id       uint64
	time     uint64
}

// seen reports whether a record is a duplicate. The event that it is of may be
// shared, and have no known origin then.
func (d *duplicates) seen(h *Header, ev *eventInfo, shared bool) bool {
	if d.bound == nil {
		d.bound = make(map[uint32][]binding)
	}
	sampling := int32(notAnEvent)
	if !shared && ev != nil {
		sampling = ev.sampling
	}
	b := d.binding(h, sampling)
	if shared {
		again := b.time == h.Time && b.id == h.ID
		d.shared = d.shared || again
		b.time, b.id = h.Time, h.ID
		if d.shared {
			return again
		}
	}
	if ev == nil {
		return false
	}
	if b.origin == anyOrigin {
		b.origin = ev.origin
	}
	return b.origin != ev.origin
}

// binding returns the place of a thread's binding.
func (d *duplicates) binding(h *Header, sampling int32) *binding {
	bound := d.bound[h.TID]
	for i := range bound {
		if bound[i].cpu == h.CPU && bound[i].sampling == sampling {
			return &bound[i]
		}
	}
	bound = append(bound, binding{cpu: h.CPU, sampling: sampling, origin: anyOrigin, time: noTime})
	d.bound[h.TID] = bound
	return &bound[len(bound)-1]
}

// anyOrigin and noTime are of a binding that nothing has come for.
const (
	anyOrigin = -1
	noTime    = ^uint64(0)
)

// fork forgets a thread's bindings: its number is being used again.
func (d *duplicates) fork(tid uint32) { delete(d.bound, tid) }

// exit forgets the bindings of the thread that ended so many ends ago.
func (d *duplicates) exit(tid uint32) {
	delete(d.bound, d.ended[d.next])
	d.ended[d.next] = tid
	d.next = (d.next + 1) % len(d.ended)
}

package perfevent

// duplicates recognizes what arrives twice. While the events of a process's
// threads are being opened, a thread may be born to one whose events are open
// already: it inherits those, and then gets events of its own too. Everything
// that it and its children do is then recorded by both.
//
// Inherited events write under the id of the event that they were inherited
// from, so every record names its origin: the attachment to one thread. Both
// origins record the same, so each thread is bound to the origin that delivered
// first, and what comes from another is left out.
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
	shared    bool               // this kernel's software counters share ids
	bound     map[uint32]binding // by tid
}

// binding is what a thread is bound to, and its last sample of a shared event.
type binding struct {
	origin int32
	id     uint64
	time   uint64
}

// seen reports whether a record is a duplicate. The event that it is of may be
// shared, and have no known origin then.
func (d *duplicates) seen(h *Header, ev *eventInfo, shared bool) bool {
	if d.bound == nil {
		d.bound = make(map[uint32]binding)
	}
	b, bound := d.bound[h.TID]
	if shared {
		again := bound && b.time == h.Time && b.id == h.ID
		d.shared = d.shared || again
		b.time, b.id = h.Time, h.ID
		if again || d.shared {
			if !bound {
				b.origin = anyOrigin
			}
			d.bound[h.TID] = b
			return again
		}
	}
	if ev == nil {
		return false
	}
	if !bound || b.origin == anyOrigin {
		b.origin = ev.origin
	}
	d.bound[h.TID] = b
	return b.origin != ev.origin
}

// anyOrigin is of a thread that is not bound yet.
const anyOrigin = -1

// born forgets a thread's binding: its number is being used again.
func (d *duplicates) born(tid uint32) { delete(d.bound, tid) }

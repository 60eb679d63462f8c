package perfevent

// duplicates recognizes records that arrive twice. While the events of a process's threads
// are being opened, a thread with open events may create another thread. The new thread
// inherits those events, and then gets its own too. Both record everything that it and its
// children do.
//
// An inherited event writes the id of the event that it was inherited from. So every record
// names its origin: the thread that the event was opened on. Both origins record the same, so
// each thread is bound to the origin whose record comes first, and records from another
// origin are duplicates. Each CPU, each sampling and the side-band have bindings of their
// own, because a new thread inherits only those of its creator's events that are open by then.
//
// On newer kernels, that does not work for the software counters (see isShared): all samples
// of one hit carry the id and the time of the first event. There, a thread's samples at the
// same nanosecond are one hit. The first hit that is recorded twice shows that the kernel is
// of this kind, before any sample was dropped wrongly.
//
// All this is done only if late threads were found.
type duplicates struct {
	ambiguous bool
	shared    bool                 // this kernel's software counters share ids
	bound     map[uint32][]binding // by tid
	ended     [1024]uint32         // the threads that ended last: records of theirs may still come, and their exit twice
	next      int                  // index in ended for the next thread
}

// binding is the origin that a thread is bound to on a CPU for a sampling. For shared events,
// it also has the id and time of the thread's last sample.
type binding struct {
	cpu      uint32
	sampling int32 // sideBand; notAnEvent for all shared events together
	origin   int32
	id       uint64
	time     uint64
}

// seen reports whether a record is a duplicate. shared says that it is a sample of a shared
// event (see isShared). ev is nil if the record's id is unknown: only shared events have such ids.
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

// binding returns the binding of a record's thread and CPU for a sampling. It makes one if
// there is none.
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

// A binding has anyOrigin and noTime until its first record comes.
const (
	anyOrigin = -1
	noTime    = ^uint64(0)
)

// fork forgets a thread's bindings: its number is being used again.
func (d *duplicates) fork(tid uint32) { delete(d.bound, tid) }

// exit notes that a thread has ended. It keeps the bindings of the threads in ended, and
// forgets those of the oldest.
func (d *duplicates) exit(tid uint32) {
	delete(d.bound, d.ended[d.next])
	d.ended[d.next] = tid
	d.next = (d.next + 1) % len(d.ended)
}

// dropDuplicates is the stage that drops records that have also come from another event.
func (s *Session) dropDuplicates(rec Record) Record {
	duplicate := s.isDuplicate(rec)
	switch rec := rec.(type) {
	case *Sample:
		if duplicate {
			s.accounts[rec.Sampling].Duplicates++
		}
	case *Fork:
		if !duplicate {
			s.duplicates.fork(rec.TID)
			for _, d := range s.grow.sets {
				d.fork(rec.TID)
			}
		}
	case *Exit:
		s.duplicates.exit(rec.TID)
		for _, d := range s.grow.sets {
			d.exit(rec.TID)
		}
	}
	if duplicate {
		return nil
	}
	return rec
}

// isDuplicate reports whether a record is a duplicate, because a thread has two events or
// because a growth replaces events.
func (s *Session) isDuplicate(rec Record) bool {
	h := rec.Common()
	ev := s.dec.events.find(h.ID)
	sample, isSample := rec.(*Sample)
	d := &s.duplicates
	if ev != nil && ev.set > 0 {
		d = s.grow.sets[ev.set-1]
	}
	if d.ambiguous && d.seen(h, ev, isSample && s.samplings[sample.Sampling].isShared()) {
		return true
	}
	g := s.grow.now
	if g == nil || !isSample || ev == nil || !g.changes(sample.Sampling) {
		return false
	}
	at := source{sample.Sampling, sample.TID, sample.CPU}
	first, overlaps := g.first[at]
	if ev.set == g.set && !overlaps {
		g.first[at] = h.Time
	}
	return ev.set != g.set && overlaps && h.Time >= first
}

package process

import "github.com/ringtap/ringtap/callchain"

// keepExited is how many processes that have exited are at least kept, for
// samples of other threads or of the exit itself that come after the record.
const keepExited = 1024

// keepReplayed is the same where samples come as late as Options.Keep.
const keepReplayed = 16 * keepExited

// keep is how many processes that have exited are at least kept. The files that they
// map are held open, which is to leave most of the budget to others.
func (o *Options) keep() int {
	if o.Keep > 0 {
		return keepReplayed
	}
	return min(keepExited, o.MaxFiles/8)
}

// exit marks a process whose main thread has exited. It is kept for a while;
// forgetting is done many at a time, because it looks at all mappings.
func (t *Table) exit(p *Process) {
	if p.exited {
		return
	}
	t.retire(p)
	if len(t.exited) >= t.sweepAt {
		t.sweep()
	}
}

// retire notes that a process has exited.
func (t *Table) retire(p *Process) {
	p.exited = true
	t.exited = append(t.exited, p)
}

// sweep forgets the processes that exited first, but for those that samples
// came from since the last sweep, and then all objects that no process maps and no
// frame is held of. Whoever holds a forgotten Process can go on using it.
func (t *Table) sweep() {
	if t.swept != t.losses {
		t.swept = t.losses
		t.findVanished()
	}
	old := len(t.exited) - t.options.keep()
	kept := t.exited[:0]
	for i, p := range t.exited {
		switch {
		case t.byPID[p.PID] != p: // its pid serves another one
		case i >= old || p.seen:
			p.seen = p.seen && i >= old
			kept = append(kept, p)
		default:
			delete(t.byPID, p.PID)
		}
	}
	clear(t.exited[len(kept):])
	t.exited = kept
	t.sweepAt = 2*len(kept) + t.options.keep()
	t.sweepObjects()
}

// findVanished marks the processes whose EXIT record was lost.
func (t *Table) findVanished() {
	for pid, p := range t.byPID {
		if pid > 0 && !p.exited && !t.fs.Exists(pid) {
			t.retire(p)
		}
	}
}

// sweepObjects closes and forgets what nothing leads to any more.
func (t *Table) sweepObjects() {
	for p := range t.kept {
		for i := range p.mappings {
			p.mappings[i].object.mapped = true
		}
	}
	held := t.heldObjects()
	for _, o := range t.objects {
		switch {
		case o.Kind == Kernel || o.mapped:
		case held.has(o.ID):
			o.drop() // its frames may be asked for by name
		default:
			t.endObject(o)
		}
	}
	for k, o := range t.byKey {
		if !o.mapped && o.ID == callchain.Kernel {
			o.close()
			t.forget(k)
		}
	}
	for p := range t.kept {
		for i := range p.mappings {
			p.mappings[i].object.mapped = false
		}
	}
}

// heldObjects returns the objects that are held: see Hold.
func (t *Table) heldObjects() *objectSet {
	held := new(objectSet)
	if t.held != nil {
		t.held(func(id callchain.ObjectID) {
			if id <= t.last {
				held.add(id)
			}
		})
	}
	return held
}

// endObject takes an object's ID, which no other gets. A process that was forgotten and that
// the caller holds may map it still: then the next Find gives it another.
func (t *Table) endObject(o *Object) {
	delete(t.objects, o.ID)
	if o.reused != nil {
		t.code.unwatch(o)
	}
	o.close()
	o.ID, o.unwind, o.unwindErr, o.dropped, o.perfMap = callchain.Kernel, nil, nil, false, nil
}

// kept yields all processes that samples may be of, some of them twice.
func (t *Table) kept(yield func(*Process) bool) {
	for _, p := range t.byPID {
		if !yield(p) {
			return
		}
	}
	for _, lives := range t.lives {
		for _, l := range lives {
			if !yield(l.process) {
				return
			}
		}
	}
}

package process

import "github.com/ringtap/ringtap/callchain"

// keepExited is the minimum number of exited processes to keep. Samples of other threads, or of
// the exit itself, come after the exit record.
const keepExited = 1024

// keepReplayed is the minimum if samples come late, see Options.Keep.
const keepReplayed = 16 * keepExited

// keep returns the minimum number of exited processes to keep. Their mapped files are held
// open, which should leave most of the budget to other files.
func (o *Options) keep() int {
	if o.Keep > 0 {
		return keepReplayed
	}
	return min(keepExited, o.maxFiles/8)
}

// exit marks a process whose main thread has exited. It is kept for a while. Many are forgotten
// together, because that scans all mappings.
func (t *Table) exit(p *Process) {
	if p.exited {
		return
	}
	t.retire(p)
	if len(t.exited) >= t.sweepAt {
		t.sweep()
	}
}

// retire records that a process has exited.
func (t *Table) retire(p *Process) {
	p.exited = true
	t.exited = append(t.exited, p)
}

// sweep forgets the processes that exited first, except those with samples since the last
// sweep. Then it ends all objects that no process maps and that have no held frames. A caller
// may continue to use a forgotten Process.
func (t *Table) sweep() {
	if t.swept != t.losses && t.fs.Recording == nil {
		t.swept = t.losses
		t.findVanished()
	}
	old := len(t.exited) - t.options.keep()
	kept := t.exited[:0]
	for i, p := range t.exited {
		switch {
		case t.byPID[p.PID] != p: // another process has its pid now
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

// findVanished finds the processes whose EXIT record was lost, and retires them.
func (t *Table) findVanished() {
	for pid, p := range t.byPID {
		if pid > 0 && !p.exited && !t.fs.Exists(pid) {
			t.retire(p)
		}
	}
}

// sweepObjects ends objects that are no longer used.
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
			o.drop() // its frames may still need names
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

// heldObjects returns the objects whose frames the caller holds: see Hold.
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

// endObject takes away an object's ID, which is never used again. A forgotten process that the
// caller holds may still map the object. Then the next Find gives it a new ID.
func (t *Table) endObject(o *Object) {
	delete(t.objects, o.ID)
	if o.reused != nil {
		t.code.unwatch(o)
	}
	o.close()
	o.ID, o.unwind, o.unwindErr, o.dropped, o.perfMap = callchain.Kernel, nil, nil, false, nil
}

// kept yields all processes that samples may belong to, some of them twice.
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

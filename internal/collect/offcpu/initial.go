package offcpu

import (
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/stack"
)

// A WaitReader reads where single threads wait. Only one goroutine may use it.
type WaitReader interface {
	// Read returns where a thread of a process waits. ok is false if it runs, has ended, or ringtap
	// may not read it.
	Read(pid, tid int) (wait stack.Wait, ok bool)
	// WantKernel announces that KernelFrames will be called with these functions.
	WantKernel(functions []string)
	// KernelFrames returns the frames of a Wait's kernel functions, or none if the kernel
	// hides an address.
	KernelFrames(functions []string) []callchain.Frame
	Close() error
}

// initialWaits has the stacks of threads that were already waiting when the run started. They have
// no switch, so ringtap reads their stacks from the threads, as ringtap stack does.
type initialWaits struct {
	waits  WaitReader // nil: nothing is read any more
	stacks stack.Stacks
	found  map[uint32]initialWait // by thread
}

type initialWait struct {
	row  table.Row
	wait stack.Wait
	pid  int
}

// maxReading bounds how long the start of a run waits for stacks. Threads that are left out get a
// row that says so.
const maxReading = time.Second

// Starting reads where threads wait. It may take a while, so it runs before the events are enabled.
func (c *Collector) Starting(rows *table.Rows) {
	threads := c.initial
	if c.opts.Whole {
		threads = c.all()
	}
	if c.opts.Waits == nil || c.source == fromRecords || len(threads) == 0 {
		return
	}
	c.found = &initialWaits{waits: c.opts.Waits(rows.Processes()), stacks: c.opts.Stacks, found: make(map[uint32]initialWait)}
	waits := make(map[uint32]stack.Wait)
	end := time.Now().Add(maxReading)
	for tid, pid := range threads {
		if time.Now().After(end) {
			break
		}
		if rows.Own(uint32(pid)) {
			continue
		}
		if wait, ok := c.found.waits.Read(pid, int(tid)); ok {
			waits[tid] = wait
			c.found.waits.WantKernel(wait.Kernel)
		}
	}
	for tid, wait := range waits {
		c.found.keep(rows, threads[tid], tid, wait)
	}
}

// maxStarted bounds how long Started may take, because the rings fill meanwhile.
const maxStarted = 50 * time.Millisecond

// Started checks the threads that Starting has read. If a thread did not run meanwhile, it is in
// the same wait. Otherwise Started reads it again, which is quick by now. It forgets threads that
// it has no time for.
func (c *Collector) Started(rows *table.Rows) {
	if c.found == nil {
		return
	}
	end := time.Now().Add(maxStarted)
	for tid, f := range c.found.found {
		if time.Now().After(end) {
			delete(c.found.found, tid)
			continue
		}
		until, still := f.wait.Still()
		if still {
			f.wait.Until = until
			c.found.found[tid] = f
			continue
		}
		delete(c.found.found, tid)
		c.found.read(rows, f.pid, int(tid))
	}
	if c.opts.Whole {
		c.found.close() // on a whole system, threads that never switch in the run do not count
	}
}

// read reads where a thread waits. The row is not Known if that fails.
func (w *initialWaits) read(rows *table.Rows, pid, tid int) table.Row {
	if w == nil || w.waits == nil {
		return table.Row{}
	}
	wait, ok := w.waits.Read(pid, tid)
	if !ok {
		return table.Row{}
	}
	return w.keep(rows, pid, uint32(tid), wait)
}

// keep makes the row of a wait and stores both.
func (w *initialWaits) keep(rows *table.Rows, pid int, tid uint32, wait stack.Wait) table.Row {
	var user, kernel []callchain.Frame
	if w.stacks.User {
		user = wait.User
	}
	if w.stacks.Kernel {
		kernel = w.waits.KernelFrames(wait.Kernel)
	}
	if len(user) == 0 && len(kernel) == 0 {
		return table.Row{}
	}
	row := rows.Stack(uint32(pid), user, wait.Cut, kernel)
	wait.User, wait.Kernel = nil, nil // the row has them
	w.found[tid] = initialWait{row, wait, pid}
	return row
}

// row returns the row of a thread that starts to run for the first time in the run. It is not Known
// if ringtap read the thread too late or not at all.
func (w *initialWaits) row(tid uint32, now uint64) table.Row {
	if w == nil || w.found[tid].wait.Until > now {
		return table.Row{}
	}
	return w.found[tid].row
}

// all returns the threads of the machine, with their processes.
func (c *Collector) all() map[uint32]int {
	all := make(map[uint32]int)
	pids, _ := c.opts.Host.Processes() // on error, waits have no stacks, and their rows say so
	for _, pid := range pids {
		tids, _ := c.opts.Host.Threads(pid)
		for _, tid := range tids {
			all[uint32(tid)] = pid
		}
	}
	return all
}

// end forgets the threads that have switched since, and keeps the rows of the others.
func (w *initialWaits) end(rows *table.Rows, switched func(tid uint32) bool) {
	if w == nil {
		return
	}
	for tid, wait := range w.found {
		if switched(tid) {
			delete(w.found, tid)
		} else {
			rows.Keep(wait.row)
		}
	}
	if len(w.found) == 0 {
		w.close()
	}
}

// close closes the WaitReader. Nothing is read any more.
func (w *initialWaits) close() {
	if w != nil && w.waits != nil {
		_ = w.waits.Close() // an error does not matter: the files were only read
		w.waits = nil
	}
}

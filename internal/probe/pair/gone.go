package pair

import "github.com/ringtap/ringtap/perfevent"

// Handle processes a record that is not a sample: a thread ended or executed another program,
// or records were lost.
func (c *Calls[P]) Handle(record perfevent.Record) {
	switch r := record.(type) {
	case *perfevent.Lost:
		c.Lost()
	case *perfevent.Exit:
		c.forget(Task{kernel: true, ID: uint64(r.TID)}, r.Time)
		c.forgetThread(r.PID, r.TID, r.Time)
	case *perfevent.Comm:
		if r.Exec { // execve(2) itself continues in the kernel
			c.forgetThread(r.PID, r.TID, r.Time)
		}
	}
}

// forgetThread ends a thread's calls. Goroutines end with their process.
func (c *Calls[P]) forgetThread(pid, tid uint32, now uint64) {
	c.forget(Task{ID: uint64(tid)}, now)
	if pid == tid {
		c.forgetProcess(pid, now)
	}
}

// forget ends the calls of a task.
func (c *Calls[P]) forget(task Task, now uint64) {
	if s := c.tasks[task]; s != nil {
		if c.Gone != nil {
			s.spent(now, c.Gone)
		}
		c.Counts.Left += uint64(len(s.calls))
		c.open -= len(s.calls)
		delete(c.tasks, task)
	}
}

// forgetProcess ends the calls of all goroutines of a process.
func (c *Calls[P]) forgetProcess(process uint32, now uint64) {
	for task := range c.tasks {
		if task.process == process {
			c.forget(task, now)
		}
	}
}

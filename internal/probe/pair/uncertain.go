package pair

// Hold keeps an ended call if it is not certain yet, and reports whether it does. The call may
// have started on another CPU, whose ring may have lost records in between. Confirm yields it
// later. cpu is the CPU where the call ended.
func (c *Calls[P]) Hold(e Ended[P], cpu uint32) bool {
	if e.CPU == cpu {
		return false
	}
	c.uncertain[e.CPU] = append(c.uncertain[e.CPU], e)
	return true
}

// Confirm yields the calls that waited for a record of a CPU. Call it for every sample, before
// processing the sample.
func (c *Calls[P]) Confirm(cpu uint32, yield func(Ended[P])) {
	if len(c.uncertain) == 0 {
		return
	}
	for _, e := range c.uncertain[cpu] {
		yield(e)
	}
	delete(c.uncertain, cpu)
}

// ConfirmAll yields all waiting calls, at the end of a run that lost nothing.
func (c *Calls[P]) ConfirmAll(yield func(Ended[P])) {
	for cpu := range c.uncertain {
		c.Confirm(cpu, yield)
	}
}

// Lost gives up all calls that are open or held: their returns may be among the lost records,
// and so may later entries.
func (c *Calls[P]) Lost() {
	for task, s := range c.tasks {
		c.Counts.Broken += uint64(len(s.calls))
		delete(c.tasks, task)
	}
	c.open = 0
	for cpu, waiting := range c.uncertain {
		c.Counts.Broken += uint64(len(waiting))
		delete(c.uncertain, cpu)
	}
}

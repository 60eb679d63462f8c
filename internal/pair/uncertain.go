package pair

// Hold keeps a call that ended on a CPU if it is not certain yet, and reports
// whether it does: it may have begun on another, whose ring has not shown yet that
// it lost nothing between. Confirm yields it then.
func (c *Calls[P]) Hold(e Ended[P], cpu uint32) bool {
	if e.CPU == cpu {
		return false
	}
	c.uncertain[e.CPU] = append(c.uncertain[e.CPU], e)
	return true
}

// Confirm yields what waited for a record of a CPU. It is to be called for every
// sample, before what the sample tells.
func (c *Calls[P]) Confirm(cpu uint32, yield func(Ended[P])) {
	if len(c.uncertain) == 0 {
		return
	}
	for _, e := range c.uncertain[cpu] {
		yield(e)
	}
	delete(c.uncertain, cpu)
}

// ConfirmAll yields all that waited, at the end of a run that lost nothing.
func (c *Calls[P]) ConfirmAll(yield func(Ended[P])) {
	for cpu := range c.uncertain {
		c.Confirm(cpu, yield)
	}
}

// Lost gives up all calls that are open or held: of what was lost some may have
// been their returns, and later entries.
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

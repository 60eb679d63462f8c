package eval

// Result returns what the clause that ran last returned, 0 if it returned nothing.
func (m *Machine) Result() int64 { return m.result.Signed() }

// Resume forgets that the program called exit or was interrupted.
func (m *Machine) Resume() {
	m.exited, m.code = false, 0
	m.interrupted.Store(false)
	m.lastRounds = 0
}

// Interrupt ends the loops of the clause that runs, and of those that run until Resume, if they
// take long. It may be called on any goroutine.
func (m *Machine) Interrupt() { m.interrupted.Store(true) }

package eval

// Result returns what the last clause returned, or 0 if it returned nothing.
func (m *Machine) Result() int64 { return m.result.Signed() }

// Resume clears the effects of exit() and of Interrupt.
func (m *Machine) Resume() {
	m.exited, m.code = false, 0
	m.interrupted.Store(false)
	m.lastRounds = 0
}

// Interrupt makes long loops end, in the clause that runs and in later ones until Resume. Any
// goroutine may call it.
func (m *Machine) Interrupt() { m.interrupted.Store(true) }

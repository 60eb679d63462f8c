package snapshot

// Still records how long the threads and goroutines of a process have not moved.
type Still struct {
	Threads    map[int]Stood    // by TID
	Goroutines map[uint64]Stood // by ID
}

// Stood is how many snapshots in a row have found a thread or goroutine in the same wait.
type Stood struct {
	Looks int
	state string // state of the thread or goroutine
	ran   uint64 // how often it has run
}

// Since returns, for each thread and goroutine, how many snapshots in a row have found it in the
// same wait, including this one. It has not run in between. For goroutines this is wrong in one of
// 256 cases, because the runtime's counter has 8 bits. before is the result for the previous
// snapshot, or the zero value for the first.
func (s *Snapshot) Since(before Still) Still {
	still := Still{make(map[int]Stood, len(s.Threads)), make(map[uint64]Stood, len(s.Goroutines))}
	for _, t := range s.Threads {
		still.Threads[t.TID] = stood(before.Threads[t.TID], string(t.State), t.switches, t.State != 'R' && t.switches > 0)
	}
	for _, g := range s.Goroutines {
		still.Goroutines[g.ID] = stood(before.Goroutines[g.ID], g.State, uint64(g.stops), g.stack >= 0)
	}
	return still
}

// stood returns the Stood of a thread or goroutine. waits reports whether ran is a valid count of a
// waiting one.
func stood(before Stood, state string, ran uint64, waits bool) Stood {
	now := Stood{Looks: 1, state: state, ran: ran}
	if waits && before.state == state && before.ran == ran {
		now.Looks += before.Looks
	}
	return now
}

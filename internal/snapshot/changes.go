package snapshot

// Still says of the threads and goroutines of a process how long they have not moved.
type Still struct {
	Threads    map[int]Stood    // by TID
	Goroutines map[uint64]Stood // by ID
}

// Stood is how many snapshots in a row have found a thread or goroutine in the same
// wait.
type Stood struct {
	Looks int
	state string // in which it is
	ran   uint64 // how often it has run
}

// Since tells for each thread and goroutine how many snapshots in a row, this one
// included, have found it in the same wait: it has not run since. Of goroutines it may
// be wrong once in 256 times, as the runtime counts no further. Before is what Since
// returned for the snapshot before, its zero value for the first.
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

// stood is what is known of one that was found in a state after it had run so often.
func stood(before Stood, state string, ran uint64, waits bool) Stood {
	now := Stood{Looks: 1, state: state, ran: ran}
	if waits && before.state == state && before.ran == ran {
		now.Looks += before.Looks
	}
	return now
}

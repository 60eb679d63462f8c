package perfevent

// pidFilter lets through the records of some processes, and of the children
// that they have from now on, out of those of the whole system. It follows the
// children by their fork records, which come before anything that a child does.
type pidFilter struct {
	pids map[uint32]bool
	tids map[uint32]bool // when set, samples of these threads only
	// samplings are the session's: of those that are SystemWide all samples are wanted.
	samplings []Sampling
}

func newPIDFilter(target Target, processes []watched, samplings []Sampling) pidFilter {
	f := pidFilter{pids: make(map[uint32]bool), samplings: samplings}
	for _, p := range processes {
		f.pids[uint32(p.pid)] = true
	}
	if target.kind == threadTarget {
		f.tids = make(map[uint32]bool)
		for _, tid := range target.pids {
			f.tids[uint32(tid)] = true
		}
	}
	return f
}

func (f *pidFilter) active() bool { return f.pids != nil }

// wants reports whether a record is about the filter's processes. Records that
// are about no process are wanted.
func (f *pidFilter) wants(rec Record) bool {
	switch r := rec.(type) {
	case *Sample:
		if r.Sampling < len(f.samplings) && f.samplings[r.Sampling].SystemWide {
			return true
		}
		if f.tids != nil {
			return f.tids[r.TID]
		}
		return f.pids[r.PID]
	case *Switch:
		return f.pids[r.Header.PID] || f.pids[r.OtherPID]
	case *Mmap:
		return f.pids[r.PID]
	case *Comm:
		return f.pids[r.PID]
	case *Namespaces:
		return f.pids[r.PID]
	case *Exit:
		return f.pids[r.PID]
	case *Fork:
		// A number that is used again belongs to the new process.
		if r.PID != r.PPID {
			if f.pids[r.PPID] && f.tids == nil {
				f.pids[r.PID] = true
			} else {
				delete(f.pids, r.PID)
			}
		}
		return f.pids[r.PID]
	}
	return true
}

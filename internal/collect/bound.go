package collect

import "github.com/ringtap/ringtap/callchain"

// What a row takes in a table (its key, its index and a value, with the map's
// free places), and what the description of a process takes, its strings
// included.
const (
	rowBytes     = 64
	processBytes = 256
)

// rest is the row of all samples that there was no memory for.
var rest = key{process: noProcess, user: NoStack, kernel: NoStack}

const noProcess = -1

// intern returns the id of a chain; false if it is new and there is no memory
// for it.
func (r *Recorder) intern(frames []callchain.Frame, truncated bool) (callchain.StackID, bool) {
	if id, ok := r.interner.Find(frames, truncated); ok {
		return id, true
	}
	if r.full() {
		return NoStack, false
	}
	return r.interner.Intern(frames, truncated), true
}

// known says that a row is there, or was in an earlier window of a run that is
// kept whole: memory that is used up is no reason to forget it.
func (r *Recorder) known(k key) bool {
	_, ok := r.table.rows[k]
	if !ok && r.whole != nil {
		_, ok = r.whole.table.rows[k]
	}
	return ok
}

// full says that distinct stacks and rows take the memory that they may.
func (r *Recorder) full() bool {
	rows, processes := len(r.table.rows), len(r.live)
	if r.whole != nil {
		rows += len(r.whole.table.rows)
		processes += len(r.whole.processes)
	}
	return r.interner.Bytes()+rowBytes*rows+processBytes*processes > r.opts.Memory
}

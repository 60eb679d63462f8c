package table

import "github.com/ringtap/ringtap/internal/stack"

// What a row takes in a table (its key, its index and a value, with the map's
// free places), what the description of a process takes, its strings included, and what a
// histogram does.
const (
	rowBytes       = 64
	processBytes   = 256
	histogramBytes = 128 // without its buckets
)

// rest is the row of all samples that there was no memory for.
var rest = key{process: noProcess, user: stack.None, kernel: stack.None}

const noProcess = -1

// known says that a row is there, or was in an earlier window of a run that is
// kept whole: memory that is used up is no reason to forget it.
func (r *Recorder) known(k key) bool {
	return r.table.find(k) != nil || r.whole != nil && r.whole.table.find(k) != nil
}

// full says that distinct stacks and rows take the memory that they may.
func (r *Recorder) full() bool { return r.Bytes() > r.opts.Memory }

// fits says that there is memory for that many bytes more.
func (r *Recorder) fits(bytes int) bool { return r.Bytes()+bytes <= r.opts.Memory }

// Bytes is the memory that counts against Options.Memory.
func (r *Recorder) Bytes() int {
	rows, processes, histograms := len(r.table.rows), len(r.live), r.table.histogramBytes
	if r.whole != nil {
		rows += len(r.whole.table.rows) + len(r.whole.passing.rows) + len(r.whole.passed.rows)
		processes += len(r.whole.processes)
		histograms += r.whole.table.histogramBytes
	}
	return r.stacks.Bytes() + rowBytes*rows + processBytes*processes + histograms + r.held()
}

// held is what the collectors hold themselves.
func (r *Recorder) held() (bytes int) {
	for i := range r.parts {
		if state := r.parts[i].state; state != nil {
			bytes += state.Bytes()
		}
	}
	return bytes
}

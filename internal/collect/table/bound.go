package table

import "github.com/ringtap/ringtap/internal/stack"

// Bytes counted per row (key, index, one value, the map's free places), per description of a
// process (with its strings), and per histogram.
const (
	rowBytes       = 64
	processBytes   = 256
	histogramBytes = 128 // without its buckets
)

// rest is the row that counts all samples for which there was no memory.
var rest = key{process: noProcess, user: stack.None, kernel: stack.None}

const noProcess = -1

// known reports whether k has a row in this window or, if the whole run is kept, in an earlier
// window. Such a row stays in use even if memory is full.
func (r *Recorder) known(k key) bool {
	return r.table.find(k) != nil || r.whole != nil && r.whole.table.find(k) != nil
}

// full reports whether distinct stacks and rows take more memory than Options.Memory.
func (r *Recorder) full() bool { return r.Bytes() > r.opts.Memory }

// fits reports whether bytes more would stay within Options.Memory.
func (r *Recorder) fits(bytes int) bool { return r.Bytes()+bytes <= r.opts.Memory }

// Bytes returns the memory that counts against Options.Memory.
func (r *Recorder) Bytes() int {
	rows, processes, histograms := len(r.table.rows), len(r.live), r.table.histogramBytes
	if r.whole != nil {
		rows += len(r.whole.table.rows) + len(r.whole.passing.rows) + len(r.whole.passed.rows)
		processes += len(r.whole.processes)
		histograms += r.whole.table.histogramBytes
	}
	return r.stacks.Bytes() + rowBytes*rows + processBytes*processes + histograms + r.held()
}

// held returns the memory that the collectors hold themselves.
func (r *Recorder) held() (bytes int) {
	for i := range r.parts {
		if state := r.parts[i].state; state != nil {
			bytes += state.Bytes()
		}
	}
	return bytes
}

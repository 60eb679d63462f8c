package perfdata

import (
	"cmp"
	"slices"
)

// orderer hands on records in the order of time.
//
// perf writes the records of one CPU after those of another one, in rounds. After the end of a
// round (FINISHED_ROUND), no record is older than the newest record of the round before. So
// records wait for two rounds; without rounds, all wait until the end. Records without a time
// do not wait.
type orderer struct {
	handOn func(record []byte) error
	limit  int // bytes that may wait; above it, half of the records are handed on early

	waiting []timed
	block   []byte // memory for copies; its length is the part in use
	bytes   int    // of the records that wait
	newest  uint64 // of all records
	before  uint64 // newest at the end of the last round
	last    uint64 // time of the last record handed on
	late    uint64 // records that were older than one handed on before
}

// timed is a record that waits.
type timed struct {
	time   uint64
	record []byte
}

// blockBytes is the size of a block of copies. A block is garbage when none of its records waits.
const blockBytes = 256 << 10

// waitingBytes is how much memory a waiting record takes in addition to its own bytes: its entry in
// waiting, whose capacity may be twice its length.
const waitingBytes = 2 * 32

// add adds a record with its time.
func (o *orderer) add(record []byte, time uint64) error {
	if time == 0 || time == ^uint64(0) {
		return o.handOn(o.copy(record))
	}
	o.waiting = append(o.waiting, timed{time, o.copy(record)})
	o.newest = max(o.newest, time)
	if o.bytes += len(record) + waitingBytes; o.bytes > o.limit {
		return o.flush(o.middle())
	}
	return nil
}

// copy copies a record to memory that is aligned to 8 bytes, so that the decoder need not copy it.
func (o *orderer) copy(record []byte) []byte {
	room := (len(record) + 7) &^ 7
	if cap(o.block)-len(o.block) < room {
		o.block = make([]byte, 0, blockBytes)
	}
	at := len(o.block)
	o.block = o.block[:at+room]
	copied := o.block[at : at+len(record) : at+len(record)]
	copy(copied, record)
	return copied
}

// round ends a round.
func (o *orderer) round() error {
	err := o.flush(o.before)
	o.before = o.newest
	return err
}

// middle returns the median time of the waiting records.
func (o *orderer) middle() uint64 {
	o.sort()
	return o.waiting[len(o.waiting)/2].time
}

func (o *orderer) sort() {
	slices.SortStableFunc(o.waiting, func(a, b timed) int { return cmp.Compare(a.time, b.time) })
}

// flush hands on the records with times up to until.
func (o *orderer) flush(until uint64) error {
	o.sort()
	n := 0
	for n < len(o.waiting) && o.waiting[n].time <= until {
		t := o.waiting[n]
		n++
		o.bytes -= len(t.record) + waitingBytes
		if t.time < o.last {
			o.late++
		}
		o.last = max(o.last, t.time)
		if err := o.handOn(t.record); err != nil {
			return err
		}
	}
	o.waiting = slices.Delete(o.waiting, 0, n)
	return nil
}

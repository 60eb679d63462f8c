package readahead

import (
	"testing"

	"github.com/ringtap/ringtap/internal/collect/pages"
)

// The records of reads, and what the reads have used by then.
func TestWhatARecordLeavesOutIsInferred(t *testing.T) {
	at := func(index uint64) pages.Page { return pages.Page{File: pages.File{Device: 1, Inode: 1}, Index: index} }
	for _, test := range []struct {
		name    string
		records [][2]uint64 // where the read stands, and the last page it wants
		begun   *reading    // before the last record
		want    uint64      // where what the last has used begins
	}{
		{"a first read", [][2]uint64{{10, 12}}, nil, 10},
		{"a first read that waited for what it read ahead", [][2]uint64{{11, 12}}, &reading{first: at(10), last: at(20)}, 10},
		{"a read before what was read ahead", [][2]uint64{{8, 9}}, &reading{first: at(10), last: at(20)}, 8},
		{"a read that goes on", [][2]uint64{{10, 40}, {25, 40}}, nil, 10},
		{"the next read", [][2]uint64{{10, 19}, {20, 29}}, nil, 20},
		{"the next read, which waited", [][2]uint64{{10, 19}, {25, 29}}, nil, 20},
		{"the next read, not at the begin of pages", [][2]uint64{{10, 19}, {25, 30}}, nil, 20},
		{"a read farther on", [][2]uint64{{10, 12}, {17, 19}}, nil, 17},
		{"a read of another size", [][2]uint64{{10, 10}, {15, 30}}, nil, 15},
		{"a read farther back", [][2]uint64{{10, 12}, {3, 5}}, nil, 3},
	} {
		reads := make(lastReads)
		var got pages.Page
		for i, r := range test.records {
			begun := test.begun
			if i < len(test.records)-1 {
				begun = nil
			}
			got = reads.used(7, at(r[0]), r[1], begun)
		}
		if got != at(test.want) {
			t.Errorf("%s: used from %d, want %d", test.name, got.Index, test.want)
		}
	}
}

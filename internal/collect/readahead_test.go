package collect

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A map of single pages knows the answer.
func TestPagesReadAheadAreThoseAddedAndNotTakenSince(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rows := []*aheadRow{{}, {}, {}}
	pages, truth := newRanges[*aheadRow](), make(map[page]*aheadRow)
	for step := range 20000 {
		// Around the border of two stretches of one of two files.
		first := page{file{1, uint64(random.IntN(2))}, stretchPages - 60 + uint64(random.IntN(120))}
		n := 1 + uint64(random.IntN(40))
		got, want := make(map[*aheadRow]uint64), make(map[*aheadRow]uint64)
		if row := rows[random.IntN(len(rows))]; random.IntN(2) == 0 {
			pages.add(first, n, row)
			for i := range n {
				truth[page{first.file, first.index + i}] = row
			}
		} else {
			pages.take(first, n, func(row *aheadRow, n uint64) { got[row] += n })
			for i := range n {
				at := page{first.file, first.index + i}
				if row := truth[at]; row != nil {
					want[row]++
				}
				delete(truth, at)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("step %d: %d pages from %d: %v, want %v", step, n, first.index, got, want)
		}
	}
	runs := 0
	for _, part := range pages.parts {
		runs += len(*part)
		for i, r := range *part {
			if r.first >= r.end || i > 0 && r.first < (*part)[i-1].end {
				t.Errorf("runs %v", *part)
			}
		}
	}
	if runs != pages.runs {
		t.Errorf("%d runs are counted, there are %d", pages.runs, runs)
	}
	for _, inode := range []uint64{0, 1} {
		pages.take(page{file{1, inode}, 0}, 2*stretchPages, func(*aheadRow, uint64) {})
	}
	if pages.bytes() != 0 {
		t.Errorf("%d bytes held for nothing", pages.bytes())
	}
}

// A scan of a large file is one run for each stretch of it.
func TestManyPagesOfOneStackTakeLittle(t *testing.T) {
	pages, row := newRanges[*aheadRow](), &aheadRow{}
	for i := range uint64(10 * stretchPages) {
		pages.add(page{file{1, 1}, i}, 1, row)
	}
	if pages.runs != 10 {
		t.Errorf("%d runs, want 10", pages.runs)
	}
}

// The records of reads, and what the reads have used by then.
func TestWhatARecordLeavesOutIsInferred(t *testing.T) {
	at := func(index uint64) page { return page{file{1, 1}, index} }
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
		var got page
		for i, r := range test.records {
			begun := test.begun
			if i < len(test.records)-1 {
				begun = nil
			}
			got = reads.used(7, at(r[0]), r[1], begun)
		}
		if got != at(test.want) {
			t.Errorf("%s: used from %d, want %d", test.name, got.index, test.want)
		}
	}
}

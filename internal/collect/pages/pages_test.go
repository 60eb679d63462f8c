package pages

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// owner is one of those that pages belong to.
type owner struct{ _ int }

// A map of single of knows the answer.
func TestPagesReadAheadAreThoseAddedAndNotTakenSince(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rows := []*owner{{}, {}, {}}
	of, truth := New[*owner](), make(map[Page]*owner)
	for step := range 20000 {
		// Around the border of two stretches of one of two files.
		first := Page{File{1, uint64(random.IntN(2))}, stretchPages - 60 + uint64(random.IntN(120))}
		n := 1 + uint64(random.IntN(40))
		got, want := make(map[*owner]uint64), make(map[*owner]uint64)
		if row := rows[random.IntN(len(rows))]; random.IntN(2) == 0 {
			of.Add(first, n, row)
			for i := range n {
				truth[Page{first.File, first.Index + i}] = row
			}
		} else {
			of.Take(first, n, func(row *owner, n uint64) { got[row] += n })
			for i := range n {
				at := Page{first.File, first.Index + i}
				if row := truth[at]; row != nil {
					want[row]++
				}
				delete(truth, at)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("step %d: %d pages from %d: %v, want %v", step, n, first.Index, got, want)
		}
	}
	runs := 0
	for _, part := range of.parts {
		runs += len(*part)
		for i, r := range *part {
			if r.first >= r.end || i > 0 && r.first < (*part)[i-1].end {
				t.Errorf("runs %v", *part)
			}
		}
	}
	if runs != of.runs {
		t.Errorf("%d runs are counted, there are %d", of.runs, runs)
	}
	for _, inode := range []uint64{0, 1} {
		of.Take(Page{File{1, inode}, 0}, 2*stretchPages, func(*owner, uint64) {})
	}
	if of.Bytes() != 0 {
		t.Errorf("%d bytes held for nothing", of.Bytes())
	}
}

// A scan of a large file is one run for each stretch of it.
func TestManyPagesOfOneStackTakeLittle(t *testing.T) {
	of, row := New[*owner](), &owner{}
	for i := range uint64(10 * stretchPages) {
		of.Add(Page{File{1, 1}, i}, 1, row)
	}
	if of.runs != 10 {
		t.Errorf("%d runs, want 10", of.runs)
	}
}

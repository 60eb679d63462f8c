package table

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/stack"
)

func TestMergeAddsRowsOfBothTables(t *testing.T) {
	a, b := newTable(2), newTable(2)
	shared, own := key{1, 2, 3}, key{1, 2, stack.None}
	copy(a.row(shared), []uint64{5, 7})
	copy(b.row(own), []uint64{1, 1})
	copy(b.row(shared), []uint64{10, 20})
	a.merge(b)
	if got, want := a.row(shared), []uint64{15, 27}; !cmp.Equal(got, want) {
		t.Errorf("shared row = %v, want %v", got, want)
	}
	if got, want := a.row(own), []uint64{1, 1}; !cmp.Equal(got, want) {
		t.Errorf("own row = %v, want %v", got, want)
	}
}

func TestKeysHaveOneOrderWhateverTheInsertion(t *testing.T) {
	want := []key{{0, 1, 9}, {0, 2, 1}, {0, 2, 4}, {0, stack.None, 1}, {3, 0, 0}}
	for rotation := range want {
		table := newTable(1)
		for i := range want {
			table.row(want[(i+rotation)%len(want)])
		}
		if diff := cmp.Diff(want, table.keys(), cmp.AllowUnexported(key{})); diff != "" {
			t.Errorf("rotation %d (-want +got):\n%s", rotation, diff)
		}
	}
}

func TestARowKeepsItsValuesWhileOthersAreAdded(t *testing.T) {
	table := newTable(1)
	for round := range 3 {
		for i := range 1000 {
			table.row(key{process: i, user: callchain.StackID(i), kernel: stack.None})[0]++
		}
		for i := range 1000 {
			if got := table.row(key{process: i, user: callchain.StackID(i), kernel: stack.None})[0]; got != uint64(round+1) {
				t.Fatalf("row %d after round %d = %d", i, round, got)
			}
		}
	}
}

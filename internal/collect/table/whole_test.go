package table

import (
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
)

// chainOf returns the stack of frames at offsets, where 0 is a mark.
func chainOf(t *testing.T, r *Recorder, truncated bool, offsets ...uint64) callchain.StackID {
	t.Helper()
	var frames []callchain.Frame
	for _, offset := range offsets {
		f := callchain.Frame{Object: 1, Offset: offset}
		if offset == 0 {
			f = callchain.Frame{Object: callchain.Marks, Offset: callchain.MarkSwitch}
		}
		frames = append(frames, f)
	}
	id, kept := r.stacks.Frames(frames, truncated)
	if !kept {
		t.Fatal("no room for a stack")
	}
	return id
}

// A stack with a mark is cut short or broken. Samples of both kinds come before the whole stack and after it.
func TestJoinedStacksAreCountedOnce(t *testing.T) {
	r := recorder(t, Options{})
	p, part := r.processes.Process(1), &r.parts[0]
	whole := chainOf(t, r, false, 1, 2, 3)
	users := []stack.User{
		{End: callchain.Cut, ID: chainOf(t, r, true, 1)},
		{End: callchain.Cut, Marked: true, ID: chainOf(t, r, true, 1, 2, 0)},
		{End: callchain.Lost, Marked: true, ID: chainOf(t, r, false, 1, 0)},
	}
	join := func() {
		for _, user := range users {
			part.counts.stack(user.End)
			r.join(part, p, tabletest.StackSample(0), user)
		}
	}
	join()
	r.stacks.Whole(p.Comm, whole)
	join()
	r.joinAll()
	want := Counts{Stacks: 6, Truncated: 6, Joined: 6}
	if part.counts != want {
		t.Errorf("%+v, want %+v", part.counts, want)
	}
}

// Rows of collectors have labels on their stacks, and may be of calls and memory of earlier windows.
func TestRowsOfEachPartialStackAreJoined(t *testing.T) {
	r := recorder(t, Options{})
	p, rows := r.processes.Process(1), &r.parts[0].rows
	label := func(id callchain.StackID) callchain.StackID {
		labeled, _ := r.stacks.With(id, "[file]")
		return labeled
	}
	whole := chainOf(t, r, false, 1, 2, 3)
	for i, id := range []callchain.StackID{chainOf(t, r, true, 1), chainOf(t, r, true, 1, 2, 0), chainOf(t, r, false, 1, 0, 3)} {
		n := uint64(1) << i
		rows.Add(Row{key{p.Index, id, stack.None}, p}, 0, n)
		rows.Add(Row{key{p.Index, label(id), stack.None}, p}, 0, 16*n)
	}
	r.stacks.Whole(p.Comm, whole)
	r.joinAll()
	got := make(map[callchain.StackID]uint64)
	for k := range r.table.rows {
		got[k.user] = r.table.row(k)[0]
	}
	if len(got) != 2 || got[whole] != 7 || got[label(whole)] != 7*16 {
		t.Errorf("values by stack: %v, want 7 of %d and 112 of %d", got, whole, label(whole))
	}
}

// indexing remembers where the rows are in the window.
type indexing struct {
	counting
	rows    []Row
	indexes []int
}

func (c *indexing) Index(index func(Row) int) {
	for _, row := range c.rows {
		c.indexes = append(c.indexes, index(row))
	}
}

// A row whose stack a whole one has completed is where the values of both are.
func TestAnIndexerFindsItsRows(t *testing.T) {
	r := recorder(t, Options{})
	c := &indexing{}
	r.parts[0].collector = c
	p, rows := r.processes.Process(1), &r.parts[0].rows
	whole := chainOf(t, r, false, 1, 2, 3)
	for i, id := range []callchain.StackID{chainOf(t, r, false, 7), whole, chainOf(t, r, true, 1), chainOf(t, r, false, 8)} {
		row := Row{key{p.Index, id, stack.None}, p}
		if c.rows = append(c.rows, row); i < 3 {
			rows.Add(row, 0, 10+uint64(i))
		}
	}
	r.stacks.Whole(p.Comm, whole)
	r.joinAll()
	keys := r.table.keys() // of the window's rows
	r.index(keys)
	at := c.indexes
	if len(at) != 4 || at[1] != at[2] || at[0] == at[1] || at[3] != profile.None {
		t.Fatalf("indexes %v, want those of the second and the third to be equal, and none of the last", at)
	}
	if one, both := r.table.row(keys[at[0]])[0], r.table.row(keys[at[1]])[0]; one != 10 || both != 11+12 {
		t.Errorf("the rows have %d and %d", one, both)
	}
}

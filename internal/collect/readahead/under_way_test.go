package readahead

import (
	"testing"

	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
)

func TestPagesKeepTheirStackThroughOtherWindows(t *testing.T) {
	one := tabletest.Format("s_dev", "i_ino", "index")
	begin := tabletest.Format("s_dev", "i_ino", "index", "nr_to_read", "size")
	until := tabletest.Format("s_dev", "i_ino", "index", "last_index")
	c, err := New(Formats{unbounded: begin, order: begin, added: one, deleted: one, got: until, mapped: until, faulted: one}, stack.Stacks{Kernel: true})
	if err != nil {
		t.Fatal(err)
	}
	r := livetest.NewRecorder(t, c)
	handle := r.Sample
	const added, unbounded, got = 1, 2, 4 // samplings
	ahead := func(pid uint32, at, place, index uint64) {
		handle(unbounded, pid, at, place, 1, 1, index, 4, 4)
		handle(added, pid, at+1, 0, 1, 1, index)
		handle(added, pid, at+2, 0, 1, 1, index+1)
	}
	ahead(6, 2, 0x1000, 900)
	ahead(5, 6, 0xabc, 100)
	for at := uint64(110); at < 400; at += 10 {
		ahead(6, at, 0x2000+at, 1000+4*at)
	}
	handle(got, 5, 404, 0, 1, 1, 100, 100)
	last := r.Finish(500)
	for _, row := range last.Rows {
		if last.Stacks[row.Kernel].Frames[0].Offset == 0xabc {
			if row.Values[unusedPages] != 1 || row.Values[usedPages] != 1 {
				t.Errorf("%d pages are unused and %d used, want one of each", row.Values[unusedPages], row.Values[usedPages])
			}
			return
		}
	}
	t.Errorf("no row has the stack of the first readahead: %v", last.Rows)
}

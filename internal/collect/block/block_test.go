package block

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
)

// What waits in a queue, for a device or for its cache to be written has the stacks
// of those who asked, however long it takes.
func TestALongRequestKeepsItsStackThroughOtherWindows(t *testing.T) {
	format := tabletest.Format("dev", "sector", "nr_sector", "rwbs")
	format.Fields[3] = ftrace.Field{Name: "rwbs", Offset: 24, Size: 8, Type: "char", Array: true, String: true}
	c, err := New(Formats{queued: format, issued: format, completed: format}, false, stack.Stacks{Kernel: true})
	if err != nil {
		t.Fatal(err)
	}
	r := livetest.NewRecorder(t, c)
	handle := r.Sample
	const device, write = 1 << 40, uint64('W') // no device of this host; the letter of rwbs
	handle(blockQueued, 6, 3, 0x1000, device, 900, 8, write)
	handle(blockQueued, 5, 4, 0xa1, device, 100, 8, write) // is issued late
	handle(blockQueued, 5, 5, 0xa2, device, 200, 8, write) // is completed late
	handle(blockQueued, 5, 6, 0xa3, device, 200, 8, write) // about the same sectors
	handle(blockIssued, 5, 7, 0, device, 200, 8, write)
	handle(blockQueued, 5, 8, 0xa4, device, 400, 8, write) // the first half of a request
	handle(blockQueued, 5, 9, 0xa5, device, 408, 8, write) // the other, which is completed late
	handle(blockIssued, 5, 10, 0, device, 400, 16, write)
	handle(blockCompleted, 5, 11, 0, device, 400, 8, write)
	handle(blockQueued, 5, 12, 0xa6, device+1, 300, 8, 'F'|write<<8) // has a cache written late
	for at := uint64(110); at < 400; at += 10 {
		handle(blockQueued, 6, at, 0x2000+at, device, 5000+8*at, 8, write)
		handle(blockIssued, 6, at+1, 0, device, 5000+8*at, 8, write)
		handle(blockCompleted, 6, at+2, 0, device, 5000+8*at, 8, write)
	}
	handle(blockCompleted, 6, 410, 0, device, 200, 8, write)
	handle(blockIssued, 6, 411, 0, device, 200, 8, write)
	handle(blockIssued, 6, 412, 0, device, 100, 8, write)
	handle(blockCompleted, 6, 420, 0, device, 200, 8, write)
	handle(blockCompleted, 6, 421, 0, device, 100, 8, write)
	handle(blockCompleted, 6, 422, 0, device, 408, 8, write)
	handle(blockIssued, 6, 423, 0, device+1, 0, 0, 'F'|'F'<<8)
	handle(blockCompleted, 6, 424, 0, device+1, 0, 0, 'F'|'F'<<8)
	last := r.Finish(500)
	type sums struct{ size, count uint64 }
	got := make(map[uint64]sums)
	for _, row := range last.Rows {
		frames := last.Stacks[row.Kernel].Frames
		place := frames[len(frames)-1].Offset
		got[place] = sums{got[place].size + row.Values[blockSize], got[place].count + row.Values[blockCount]}
	}
	want := map[uint64]sums{0xa1: {8 * sector, 1}, 0xa2: {8 * sector, 1}, 0xa3: {8 * sector, 1}, 0xa4: {0, 1}, 0xa5: {8 * sector, 0}, 0xa6: {0, 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sums{})); diff != "" {
		t.Errorf("bytes and requests by stack (-want +got):\n%s", diff)
	}
}

// The clocks of two CPUs differ by a little, so that an issue may seem to come before what
// it issues. Another process's requests stay out, unless the whole system is watched. There those
// that nobody was seen to ask for are the issuing process's, which has no stack.
func TestARequestThatIsIssuedBeforeItIsQueuedCounts(t *testing.T) {
	for name, test := range map[string]struct {
		whole bool
		want  map[uint64]uint64
	}{
		"a process":        {false, map[uint64]uint64{0xa1: 1, 0xa2: 1, 0xa3: 1}},
		"the whole system": {true, map[uint64]uint64{0xa1: 1, 0xa2: 1, 0: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, requestsByStack(t, test.whole)); diff != "" {
				t.Errorf("requests by stack (-want +got):\n%s", diff)
			}
		})
	}
}

// requestsByStack counts requests of process 5, of which two are issued before they are queued, and one of
// process 6.
func requestsByStack(t *testing.T, whole bool) map[uint64]uint64 {
	t.Helper()
	format := tabletest.Format("dev", "sector", "nr_sector", "rwbs")
	format.Fields[3] = ftrace.Field{Name: "rwbs", Offset: 24, Size: 8, Type: "char", Array: true, String: true}
	c, err := New(Formats{queued: format, issued: format, completed: format}, whole, stack.Stacks{Kernel: true})
	if err != nil {
		t.Fatal(err)
	}
	r := livetest.NewRecorder(t, c)
	const device, read = 1 << 40, uint64('R')
	r.Sample(blockQueued, 5, 10, 0xa1, device, 100, 8, read)
	r.Sample(blockIssued, 5, 11, 0, device, 100, 8, read)
	r.Sample(blockIssued, 5, 12, 0, device, 100, 8, read) // of the next
	r.Sample(blockQueued, 5, 13, 0xa2, device, 100, 8, read)
	r.Sample(blockIssued, 5, 14, 0, device, 200, 8, read)
	r.Sample(blockQueued, 5, 15, 0xa3, device, 200, 8, read)
	r.Sample(blockIssued, 6, 16, 0, device, 300, 8, read) // another's
	r.Sample(blockCompleted, 6, 17, 0, device, 300, 8, read)
	r.Sample(blockQueued, 5, 18, 0xa4, device, 300, 8, read) // is not issued any more
	for i, sector := range []uint64{100, 100, 200} {
		r.Sample(blockCompleted, 6, 20+uint64(i), 0, device, sector, 8, read)
	}
	last := r.Finish(50)
	got := make(map[uint64]uint64)
	for _, row := range last.Rows {
		at := uint64(0)
		if row.Kernel != profile.None {
			frames := last.Stacks[row.Kernel].Frames
			at = frames[len(frames)-1].Offset
		}
		got[at] += row.Values[blockCount]
	}
	return got
}

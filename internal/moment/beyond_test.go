package moment

import (
	"log/slog"
	"math/bits"
	"os"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// readingOf is what beyond keeps of pages that are told by a byte, those that are new with the
// page. The first ones are those from top on, if that is not 0.
func readingOf(from, top uint64, isNew map[byte]bool, all ...byte) (data []byte) {
	data = append8(nil, beyondMark)
	if top > 0 {
		data = appendPart(data, partTop, top, isNew, all[:topPages]...)
		all = all[topPages:]
	}
	return appendPart(data, partBeyond, from, isNew, all...)
}

// appendPart appends one part of that.
func appendPart(data []byte, part, from uint64, isNew map[byte]bool, all ...byte) []byte {
	data = append8(append8(data, part), from)
	for _, n := range all {
		hash := uint64(n)<<2 | isPage
		if !isNew[n] {
			data = append8(data, hash)
			continue
		}
		data = append8(data, hash|newPage)
		page := make([]byte, callchain.PageSize)
		page[0] = n
		data = append(data, page...)
	}
	return data
}

func TestPagesThatWereHandedOverAreKnown(t *testing.T) {
	known := pages{each: 4, by: make(map[int][]knownPage)}
	for i, test := range []struct {
		cpu  int
		data []byte
		want []byte // nil: it is not what a helper writes
	}{
		{0, readingOf(0x1000, 0, map[byte]bool{1: true, 2: true}, 1, 2), []byte{1, 2}},
		{0, readingOf(0x1000, 0, map[byte]bool{3: true}, 3, 2, 1), []byte{3, 2, 1}},
		{1, readingOf(0x1000, 0, nil, 1), nil}, // another CPU's helper thread
		{0, readingOf(0x1000, 0, map[byte]bool{5: true}, 5), []byte{5}},
		{0, readingOf(0x1000, 0, nil, 1), nil}, // 5 is in its place
		{0, readingOf(0x1000, 0, nil, 2, 5), []byte{2, 5}},
		{0, readingOf(0x1000, 0, nil), []byte{}},
		{0, readingOf(0x1000, 0, map[byte]bool{6: true}, 6)[:100], nil},
		{0, readingOf(0x1000, 0, nil, 2)[:20], nil},
		{0, readingOf(0x1000, 0, nil)[:9], nil},
	} {
		read, ok := known.take(test.cpu, test.data)
		got := read.beyond
		if ok != (test.want != nil) {
			t.Errorf("reading %d: %v", i, ok)
			continue
		}
		if ok && (got.From != 0x1000 || len(got.Pages) != len(test.want)) {
			t.Errorf("reading %d: %d pages at %#x, want %d", i, len(got.Pages), got.From, len(test.want))
			continue
		}
		for j, want := range test.want {
			if n := got.Pages[j][0]; n != want {
				t.Errorf("reading %d: page %d is %d, want %d", i, j, n, want)
			}
		}
	}
	if s, ok := known.take(0, nil); !ok || len(s.beyond.Pages) > 0 {
		t.Errorf("nothing is %d pages, %v", len(s.beyond.Pages), ok)
	}
}

func TestTheTopOfAStackComesFirst(t *testing.T) {
	known := pages{each: 16, by: make(map[int][]knownPage)}
	s, ok := known.take(0, readingOf(0x1000, 0x100000, map[byte]bool{1: true, 2: true, 3: true}, 1, 1, 1, 1, 1, 1, 1, 2, 3))
	b := s.beyond
	if !ok || b.From != 0x1000 || b.Top.From != 0x100000 || len(b.Top.Pages) != topPages || len(b.Pages) != 1 {
		t.Fatalf("%d pages at %#x, %d at %#x, %v", len(b.Pages), b.From, len(b.Top.Pages), b.Top.From, ok)
	}
	if b.Top.Pages[topPages-1][0] != 2 || b.Pages[0][0] != 3 || b.End() != 0x100000+topBytes {
		t.Errorf("they are %d and %d, and end at %#x", b.Top.Pages[topPages-1][0], b.Pages[0][0], b.End())
	}
}

func FuzzPages(f *testing.F) {
	f.Add(readingOf(0x1000, 0, map[byte]bool{1: true}, 1, 1), appendPart(append8(append8(append8(append8(append8(nil, beyondMark), partGoroutine), 5), 1), 9), partOther, 0x9000, nil, 1))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		known := pages{each: 8, by: make(map[int][]knownPage)}
		for _, data := range [][]byte{first, second} {
			s, ok := known.take(0, data)
			b := s.beyond
			if ok && len(b.Pages) > len(data)/wordSize {
				t.Errorf("%d pages in %d bytes", len(b.Pages), len(data))
			}
			for i, page := range b.Pages {
				if page == nil {
					t.Errorf("page %d of %d is missing", i, len(b.Pages))
				}
			}
		}
	})
}

func TestTheEndOfAnArea(t *testing.T) {
	list := []area{{0x1000, 0x3000, 0}, {0x3000, 0x4000, 0}, {0x8000, 0x9000, 0}}
	for addr, want := range map[uint64]uint64{0: 0, 0xfff: 0, 0x1000: 0x3000, 0x2fff: 0x3000, 0x3000: 0x4000, 0x4000: 0, 0x8fff: 0x9000, 0x9000: 0} {
		if got := areaOf(list, addr).end; got != want {
			t.Errorf("the area of %#x ends at %#x, want %#x", addr, got, want)
		}
	}
}

func TestTheTableOfPagesIsSmallerWhereThereAreMoreCPUs(t *testing.T) {
	for cpus, want := range map[int]int{1: 2048, 2: 2048, 4: 2048, 8: 1024, 64: 128, 8192: 1} {
		if got := tablePages(cpus); got != want {
			t.Errorf("%d CPUs: %d pages, want %d", cpus, got, want)
		}
	}
}

func TestAnAreaEndsWhereAStackDoes(t *testing.T) {
	list := []area{{0x1000, 0x3000, 0}, {0x3000, 0x4000, 0}}
	for _, test := range []struct {
		at   uint64
		want []area
	}{
		{0x2000, []area{{0x1000, 0x2000, 0}, {0x2000, 0x3000, 0}, {0x3000, 0x4000, 0}}},
		{0x1000, list},
		{0x3000, list},
		{0x4000, list},
		{0x800, list},
		{0x9000, list},
	} {
		if got := split(list, test.at); !slices.Equal(got, test.want) {
			t.Errorf("at %#x: %#x, want %#x", test.at, got, test.want)
		}
	}
}

func TestChainsLeadOverAPartOfAnArea(t *testing.T) {
	list := []area{{0x10000, 0x30000, 0}, {0x30000, 0x40000, 0}}
	const top = 0x30000 - topBytes
	for _, test := range []struct{ from, to, want uint64 }{
		{0x12000, top, 0x12000},
		{0x12000, top - 0x1000, 0}, // the top is larger than what is read of it
		{top, top, 0},
		{0x32000, top, 0},
		{0x2000, top, 0},
	} {
		if got := over(list, test.from, test.to); got[0].over != test.want || list[0].over != 0 {
			t.Errorf("over %#x to %#x: %#x, want %#x", test.from, test.to, got[0].over, test.want)
		}
	}
	known := over(list, 0x12000, top)
	if got := split(known, 0x20000); got[0].over != 0 || got[1].over != 0 {
		t.Errorf("split it is over %#x and %#x", got[0].over, got[1].over)
	}
}

// A sample that nobody has read although its process was read is not early: it was missed.
func TestASampleIsEarlyIfItCameBeforeItsProcessWasRead(t *testing.T) {
	table := process.NewTable(process.Options{})
	defer table.Close()
	p := table.Process(os.Getpid())
	for _, test := range []struct {
		since, time uint64
		want        bool
	}{{0, 5, true}, {6, 5, true}, {5, 5, false}, {4, 5, false}} {
		r := New(nil, 99, nil, slog.New(slog.DiscardHandler))
		r.watched[p.PID], r.progress = &target{process: p, since: test.since}, 10
		if got := r.At(&perfevent.Sample{Header: perfevent.Header{PID: uint32(p.PID), Time: test.time}}); got.Early != test.want {
			t.Errorf("a sample at %d of a process that is read since %d is early: %v", test.time, test.since, got.Early)
		}
	}
}

func TestDeepStacksAreNotReadInVain(t *testing.T) {
	table := process.NewTable(process.Options{})
	defer table.Close()
	const always, never = 3, 4 // samplings
	p := table.Process(os.Getpid())
	r := New(nil, 99, nil, slog.New(slog.DiscardHandler))
	one, other := &target{process: p, since: 1}, &target{process: p, since: 1}
	r.watched[p.PID], r.progress = one, 10
	isVain := func(sampling int) bool {
		return r.At(&perfevent.Sample{Header: perfevent.Header{PID: uint32(p.PID), Time: 5}, Sampling: sampling}).inVain
	}
	for range mostVain - 1 {
		r.judge(one, never, false)
		r.judge(one, always, false)
	}
	if isVain(never) {
		t.Error("the reader gives up a sampling too early")
	}
	r.judge(one, always, true)
	r.judge(one, always, false)
	r.judge(one, never, false)
	r.judge(other, always, false)
	if one.vain[always] != 1 || one.vain[never] != mostVain || other.vain[always] != 1 {
		t.Errorf("in a row were in vain %v and %v", one.vain, other.vain)
	}
	if !isVain(never) || isVain(always) {
		t.Error("the reader does not give up the sampling that is never exact, and it alone")
	}
	if r.Deepen(p, &Calls{inVain: true}); len(one.wants) > 0 {
		t.Error("more are read, though none is exact")
	}
	if r.Deepen(p, new(Calls)); len(one.wants) == 0 {
		t.Error("those of other samplings are not read")
	}
}

func TestAHelperReadsNoDeepStackWhereThatIsInVain(t *testing.T) {
	const pid = 7
	list := []area{{0x10000, 0x20000, 0}}
	team := &team{attached: map[int]*attached{pid: {stackNews: stackNews{areas: list, deep: true}}}}
	v := &visitor{team: team}
	team.all = []*visitor{v}
	v.of.Store(&[]watched{{pid: pid, stackNews: stackNews{areas: list, deep: true}}})
	deep := func(sampling int) *perfevent.Sample {
		s := &perfevent.Sample{Header: perfevent.Header{PID: pid}, Sampling: sampling, Stack: make([]byte, 64)}
		s.Regs = perfevent.Registers{ABI: 2, Mask: near.Registers}
		for range bits.OnesCount64(near.Registers) {
			s.Regs.Values = append(s.Regs.Values, 0x12340) // the stack pointer among them
		}
		return s
	}
	for _, sampling := range []int{5, 1, 5} {
		v.Hear(news{what: noneBeyond, pid: pid, addr: uint64(sampling)}.message())
	}
	for sampling, want := range []bool{0: true, 1: false, 2: true, 3: true, 4: true, 5: false, 6: true} {
		if v.Wants(deep(sampling)) != want {
			t.Errorf("sampling %d is read: %t, want %t", sampling, !want, want)
		}
	}
	v.Hear(news{what: forget, pid: pid}.message())
	if v.Wants(deep(0)) {
		t.Error("a process is read that is forgotten")
	}
}

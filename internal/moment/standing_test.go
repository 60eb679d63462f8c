package moment

import (
	"os"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent/near"
)

func TestTheStackOfAThreadThatWaitsIsReadBehindItsCopy(t *testing.T) {
	const size = 2 << 20
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	for i := range size / callchain.PageSize {
		memory[i*callchain.PageSize] = byte(min(i, 200)) // the pages behind that are equal
	}
	if err := unix.Mprotect(memory[510*callchain.PageSize:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	base := uint64(uintptr(unsafe.Pointer(&memory[0])))
	page := func(n uint64) uint64 { return base + n*callchain.PageSize }
	stacks := newStanding()
	for _, test := range []struct {
		name     string
		areas    []area
		copied   copied
		from, to uint64 // what is read, in pages
		top      uint64 // where the top begins, in pages; 0: there is none
		tooLate  bool
	}{
		{name: "to the end", areas: []area{{page(0), page(8), 0}}, copied: copied{page(1) + 8, page(3) + 16}, from: 3, to: 8},
		{name: "all was copied", areas: []area{{page(0), page(8), 0}}, copied: copied{page(1), page(8)}},
		{name: "no area is known", copied: copied{page(1), page(3)}},
		{name: "no registers are known", areas: []area{{page(0), page(8), 0}}},
		{name: "a deep one", areas: []area{{page(0), page(100), 0}}, copied: copied{page(1), page(2)}, from: 2, to: 100, top: 100 - topPages},
		{name: "deeper than is read", areas: []area{{page(0), page(400), 0}}, copied: copied{page(1), page(2)}, from: 2, to: 258, top: 400 - topPages},
		{name: "chains lead over a part", areas: []area{{page(0), page(400), page(5)}}, copied: copied{page(1), page(2)}, from: 2, to: 5, top: 400 - topPages},
		{name: "a page can not be read", areas: []area{{page(500), page(512), 0}}, copied: copied{page(500), page(506)}},
		{name: "too late", areas: []area{{page(0), page(8), 0}}, copied: copied{page(1), page(3)}, tooLate: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			until := time.Now().Add(time.Hour)
			if test.tooLate {
				until = time.Now()
			}
			b := stacks.read(&timedMemory{Live: interp.Live(os.Getpid()), until: until}, test.areas, test.copied)
			if len(b.Pages) != int(test.to-test.from) || len(b.Pages) > 0 && b.From != page(test.from) {
				t.Fatalf("%d pages from %#x, want %d from %#x", len(b.Pages), b.From, test.to-test.from, page(test.from))
			}
			for i, p := range b.Pages {
				if want := byte(min(int(test.from)+i, 200)); p[0] != want {
					t.Errorf("page %d begins with %d, want %d", i, p[0], want)
				}
			}
			if n := len(b.Pages); n > 210 && b.Pages[n-1] != b.Pages[n-2] {
				t.Error("equal pages are kept twice")
			}
			switch {
			case test.top == 0 && len(b.Top.Pages) > 0:
				t.Errorf("the top is %d pages, want none", len(b.Top.Pages))
			case test.top > 0 && (len(b.Top.Pages) != topPages || b.Top.From != page(test.top)):
				t.Errorf("the top is %d pages from %#x, want %#x", len(b.Top.Pages), b.Top.From, page(test.top))
			}
		})
	}
}

func TestReadingsOfStacksAreBounded(t *testing.T) {
	l := &leisure{readings: make(map[sampled]reading)}
	stack := callchain.Beyond{Stretch: callchain.Stretch{Pages: make([]*callchain.Page, mostBeyond/callchain.PageSize)}}
	at := func(n int) []sampled { return []sampled{{0, 1, uint64(n)}} }
	const room = maxStanding / mostBeyond
	for n := range 2 * room {
		l.keep(reading{calls: Calls{Kind: near.Exact, Beyond: stack}}, at(n))
	}
	if l.held != maxStanding || len(l.readings) != 2*room {
		t.Errorf("%d bytes of %d readings are held, want %d of %d", l.held, len(l.readings), maxStanding, 2*room)
	}
	for n := range 2 * room {
		if r := l.drop(at(n)[0]); r.calls.Kind != near.Exact || r.calls.Beyond.Empty() != (n >= room) {
			t.Errorf("reading %d has %d pages", n, len(r.calls.Beyond.Pages))
		}
	}
	if l.held != 0 || len(l.readings) != 0 {
		t.Errorf("%d bytes of %d readings are held, want none", l.held, len(l.readings))
	}
	l.keep(reading{calls: Calls{Kind: near.Exact, Beyond: stack}}, at(1))
	l.swept = uint64(time.Hour)
	if l.sweep(); l.held != 0 {
		t.Errorf("%d bytes are held that nobody has asked for", l.held)
	}
}

func TestWhereStacksOfWaitsLieIsAskedForOnceUntilThatTurnsOutWrong(t *testing.T) {
	table := process.NewTable(process.Options{})
	defer table.Close()
	p := table.Process(os.Getpid())
	l := &leisure{targets: make(map[uint32]*reads), kick: make(chan struct{}, 1)}
	asked := func() (n int) {
		for _, news := range l.news {
			if news.what == beyondOf {
				n++
			}
		}
		return n
	}
	unread, read := &Calls{}, &Calls{Kind: near.Exact}
	l.deepen(p, unread, news{what: beyondOf, pid: p.PID})
	l.deepen(p, unread, news{what: beyondOf, pid: p.PID})
	l.deepen(p, read, news{what: beyondOf, pid: p.PID}) // a moment ago
	if n := asked(); n != 1 {
		t.Errorf("it is asked for %d times, want once", n)
	}
	of := l.targets[uint32(p.PID)]
	of.asked -= askAgain
	l.deepen(p, unread, news{what: beyondOf, pid: p.PID})
	if n := asked(); n != 1 {
		t.Errorf("it is asked for %d times, want once", n)
	}
	if l.deepen(p, read, news{what: beyondOf, pid: p.PID}); asked() != 2 {
		t.Errorf("it is asked for %d times, want twice", asked())
	}
	l.tell(p, news{what: overOf, pid: p.PID})
	if !of.over || len(l.news) != 3 {
		t.Errorf("%d news, want 3", len(l.news))
	}
	read.Beyond.Top.Pages = []*callchain.Page{new(callchain.Page)}
	l.deepen(p, read, news{what: beyondOf, pid: p.PID})
	if l.tell(p, news{what: overOf, pid: p.PID}); !of.uneven || len(l.news) != 3 {
		t.Errorf("%d news, want 3: chains lead over a part of one stack, and not of another", len(l.news))
	}
	for range 2 * maxNews {
		l.tell(p, news{what: topOf, pid: p.PID})
	}
	if len(l.news) != maxNews {
		t.Errorf("%d news, want %d", len(l.news), maxNews)
	}
}

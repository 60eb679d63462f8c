package atsample

import (
	"os"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

func TestTheStackOfAWaitingThreadIsReadPastItsCopy(t *testing.T) {
	const size = 2 << 20
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	for i := range size / callchain.PageSize {
		memory[i*callchain.PageSize] = byte(min(i, 200)) // later pages are equal
	}
	if err := unix.Mprotect(memory[510*callchain.PageSize:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	base := uint64(uintptr(unsafe.Pointer(&memory[0])))
	page := func(n uint64) uint64 { return base + n*callchain.PageSize }
	stacks := newWaitingStacks()
	for _, test := range []struct {
		name     string
		areas    []stackArea
		copied   stackCopy
		from, to uint64 // what is read, in pages
		top      uint64 // start of the top, in pages; 0: there is none
		tooLate  bool
	}{
		{name: "to the end", areas: []stackArea{{page(0), page(8), 0}}, copied: stackCopy{page(1) + 8, page(3) + 16}, from: 3, to: 8},
		{name: "all was copied", areas: []stackArea{{page(0), page(8), 0}}, copied: stackCopy{page(1), page(8)}},
		{name: "no area is known", copied: stackCopy{page(1), page(3)}},
		{name: "no registers are known", areas: []stackArea{{page(0), page(8), 0}}},
		{name: "a deep one", areas: []stackArea{{page(0), page(100), 0}}, copied: stackCopy{page(1), page(2)}, from: 2, to: 100, top: 100 - topPages},
		{name: "deeper than is read", areas: []stackArea{{page(0), page(400), 0}}, copied: stackCopy{page(1), page(2)}, from: 2, to: 258, top: 400 - topPages},
		{name: "part of it is dead", areas: []stackArea{{page(0), page(400), page(5)}}, copied: stackCopy{page(1), page(2)}, from: 2, to: 5, top: 400 - topPages},
		{name: "a page can not be read", areas: []stackArea{{page(500), page(512), 0}}, copied: stackCopy{page(500), page(506)}},
		{name: "too late", areas: []stackArea{{page(0), page(8), 0}}, copied: stackCopy{page(1), page(3)}, tooLate: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			until := time.Now().Add(time.Hour)
			if test.tooLate {
				until = time.Now()
			}
			b := stacks.read(&timedMemory{Live: interp.Live(os.Getpid()), deadline: until}, test.areas, test.copied)
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
	o := &offCPUReader{readings: make(map[sampleKey]offCPUReading)}
	stack := callchain.Beyond{Stretch: callchain.Stretch{Pages: make([]*callchain.Page, maxStackRead/callchain.PageSize)}}
	keyAt := func(n int) []sampleKey { return []sampleKey{{0, 1, uint64(n)}} }
	const room = maxHeldBytes / maxStackRead
	for n := range 2 * room {
		o.store(offCPUReading{calls: Calls{Kind: helper.Exact, Beyond: stack}}, keyAt(n))
	}
	if o.heldBytes != maxHeldBytes || len(o.readings) != 2*room {
		t.Errorf("%d bytes of %d readings are held, want %d of %d", o.heldBytes, len(o.readings), maxHeldBytes, 2*room)
	}
	for n := range 2 * room {
		if r := o.take(keyAt(n)[0]); r.calls.Kind != helper.Exact || r.calls.Beyond.Empty() != (n >= room) {
			t.Errorf("reading %d has %d pages", n, len(r.calls.Beyond.Pages))
		}
	}
	if o.heldBytes != 0 || len(o.readings) != 0 {
		t.Errorf("%d bytes of %d readings are held, want none", o.heldBytes, len(o.readings))
	}
	o.store(offCPUReading{calls: Calls{Kind: helper.Exact, Beyond: stack}}, keyAt(1))
	o.sweptAt = uint64(time.Hour)
	if o.sweep(); o.heldBytes != 0 {
		t.Errorf("%d bytes are held after readingTTL", o.heldBytes)
	}
}

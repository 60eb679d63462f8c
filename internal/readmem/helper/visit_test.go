package helper

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// visitOfSelf returns a visit of this process that may keep room bytes.
func visitOfSelf(room int, deadline uint64) *Visit {
	v := &Visit{clock: newClock()}
	v.begin(&perfevent.Sample{Header: perfevent.Header{TID: uint32(os.Getpid())}}, make([]byte, room), deadline)
	return v
}

const never = ^uint64(0)

// twoPages maps two pages, of which the second cannot be read. It returns the first one and its
// address.
func twoPages(t *testing.T) ([]byte, uint64) {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, 2*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(mem) })
	addr := uint64(uintptr(unsafe.Pointer(&mem[0])))
	if err := unix.Mprotect(mem[pageSize:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return mem[:pageSize], addr
}

func TestLoadStringStopsAtTheNUL(t *testing.T) {
	if os.Getpagesize() != pageSize {
		t.Skip("pages are larger")
	}
	page, addr := twoPages(t)
	copy(page[pageSize-6:], "hello\x00")
	copy(page[10:], "first\x00")
	v := visitOfSelf(pageSize, never)
	if b, err := v.LoadString(addr+10, 100); err != nil || string(b) != "first" {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := v.LoadString(addr+pageSize-6, 100); err != nil || string(b) != "hello" {
		t.Errorf("at the end of readable memory: %q, %v", b, err)
	}
	if b, err := v.LoadString(addr+10, 3); err != nil || string(b) != "fir" {
		t.Errorf("cut: %q, %v", b, err)
	}
	if string(v.kept) != "firsthellofir" || v.Left() != pageSize-len(v.kept) {
		t.Errorf("%q is kept, and %d more bytes can be", v.kept, v.Left())
	}
	page[pageSize-1] = '!'
	if _, err := v.LoadString(addr+pageSize-6, 100); !errors.Is(err, ErrMemory) {
		t.Errorf("a text without a NUL: %v", err)
	}
}

func TestAVisitReturnsErrorsAtItsLimits(t *testing.T) {
	page, addr := twoPages(t)
	for i := range page {
		page[i] = byte(i)
	}
	v := visitOfSelf(16, never)
	if _, err := v.Load(addr, 17); !errors.Is(err, ErrFull) {
		t.Errorf("too much: %v", err)
	}
	if b, err := v.Load(addr, 8); err != nil || !bytes.Equal(b, page[:8]) {
		t.Errorf("%v, %v", b, err)
	}
	if err := v.KeepWord(1); err != nil {
		t.Error(err)
	}
	if err := v.Keep([]byte{1}); !errors.Is(err, ErrFull) {
		t.Errorf("keep too much: %v", err)
	}
	if _, err := v.LoadString(addr+1, 8); !errors.Is(err, ErrFull) {
		t.Errorf("a text without room: %v", err)
	}
	if w, err := v.Word(addr + 1); err != nil || w != 0x0807060504030201 {
		t.Errorf("%#x, %v", w, err)
	}
	if b, err := v.Peek(addr+7, 3); err != nil || !bytes.Equal(b, page[7:10]) {
		t.Errorf("%v, %v", b, err)
	}
	if _, err := v.Peek(0, 8); !errors.Is(err, ErrMemory) {
		t.Errorf("at 0: %v", err)
	}
	if _, err := v.Peek(addr+pageSize-1, 2); !errors.Is(err, ErrMemory) {
		t.Errorf("across pages: %v", err)
	}
	v.deadline = 0
	if err := v.Read(addr, v.word[:]); !errors.Is(err, ErrTime) {
		t.Errorf("after the deadline: %v", err)
	}
	if _, err := v.Peek(addr+7, 3); !errors.Is(err, ErrTime) {
		t.Errorf("a known page after the deadline: %v", err)
	}
}

func TestAVisitDoesNotAllocate(t *testing.T) {
	page, addr := twoPages(t)
	copy(page, "a text\x00")
	v := visitOfSelf(pageSize, never)
	s := v.Sample
	room := make([]byte, pageSize)
	n := testing.AllocsPerRun(100, func() {
		v.begin(s, room, never)
		_, _ = v.Word(addr)
		_, _ = v.LoadString(addr, 100)
		_, _ = v.Peek(addr+100, 16)
		_, _ = v.Load(addr, 64)
		_ = v.KeepWord(7)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestReadManyStopsAtUnreadableMemory(t *testing.T) {
	if os.Getpagesize() != pageSize {
		t.Skip("pages are larger")
	}
	page, addr := twoPages(t)
	copy(page, "first second")
	piece := func(at, n int) unix.RemoteIovec { return unix.RemoteIovec{Base: uintptr(addr) + uintptr(at), Len: n} }
	b := make([]byte, 20)
	pieces := []unix.RemoteIovec{piece(6, 6), piece(0, 5), piece(pageSize, 4), piece(0, 5)}
	if n, err := visitOfSelf(0, never).ReadMany(pieces, b); n != 11 || err != nil || string(b[:11]) != "secondfirst" {
		t.Errorf("%q of %d bytes, %v", b, n, err)
	}
	if n, err := visitOfSelf(0, never).ReadMany(nil, nil); n != 0 || err != nil {
		t.Errorf("no pieces: %d bytes, %v", n, err)
	}
	if _, err := visitOfSelf(0, 1).ReadMany(pieces, b); !errors.Is(err, ErrTime) {
		t.Errorf("after the deadline: %v", err)
	}
}

package helper

import (
	"encoding/binary"
	"testing"
	"unsafe"
)

func bytesOf(w []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 8*len(w))
}

func TestASharedRingKeepsOrderAndNeverOverwrites(t *testing.T) {
	for _, every := range []int{1, 2, 3, 30} { // the reader reads after this many entries
		mem := make([]uint64, (ringHeaderSize+2048)/8)
		r := newSharedRing(bytesOf(mem))
		written, taken, full := uint64(0), uint64(0), 0
		take := func() {
			for e, rest := r.next(); e != nil; e, rest = r.next() {
				if e.time != taken || uint64(e.data) != taken%200 || len(rest) < int(e.data) {
					t.Fatalf("every %d: entry %d of %d bytes in %d, want %d", every, e.time, e.data, len(rest), taken)
				}
				for _, b := range rest[:e.data] {
					if b != byte(taken) {
						t.Fatalf("every %d: entry %d holds %d", every, taken, b)
					}
				}
				taken++
				r.release(e)
			}
		}
		for i := 0; written < 1000; i++ {
			e, room := r.reserve(int(written % 200))
			if e == nil {
				full++
				take()
				continue
			}
			e.kind, e.time, e.data = visitEntry, written, uint32(written%200)
			for j := range room {
				room[j] = byte(written)
			}
			r.commit(e, int(written%200))
			written++
			if i%every == 0 {
				take()
			}
		}
		take()
		if taken != written {
			t.Errorf("every %d: %d of %d were read", every, taken, written)
		}
		if every == 30 && full == 0 {
			t.Error("the ring was never full")
		}
	}
}

func TestADiscardedEntryIsNotRead(t *testing.T) {
	mem := make([]uint64, (ringHeaderSize+1024)/8)
	r := newSharedRing(bytesOf(mem))
	e, _ := r.reserve(500)
	e.kind = visitEntry
	if got, _ := r.next(); got != nil {
		t.Fatal("an entry is read before commit")
	}
	e, room := r.reserve(8)
	e.kind = visitEntry
	binary.LittleEndian.PutUint64(room, 17)
	r.commit(e, 8)
	got, rest := r.next()
	if got == nil || binary.LittleEndian.Uint64(rest) != 17 {
		t.Error("the second entry was not read")
	}
}

func TestAnEntryMustFitInTheRing(t *testing.T) {
	mem := make([]uint64, (ringHeaderSize+1024)/8)
	r := newSharedRing(bytesOf(mem))
	if e, _ := r.reserve(2000); e != nil {
		t.Error("an entry larger than the ring was reserved")
	}
}

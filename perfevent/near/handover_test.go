package near

import (
	"encoding/binary"
	"testing"
	"unsafe"
)

func bytesOf(w []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 8*len(w))
}

func TestTheHandoverKeepsOrderAndNeverOverwrites(t *testing.T) {
	for _, every := range []int{1, 2, 3, 30} { // the reader takes all after so many
		mem := make([]uint64, (controlSize+2048)/8)
		h := newHandover(bytesOf(mem))
		written, taken, full := uint64(0), uint64(0), 0
		take := func() {
			for e, rest := h.take(); e != nil; e, rest = h.take() {
				if e.Time != taken || uint64(e.Data) != taken%200 || len(rest) < int(e.Data) {
					t.Fatalf("every %d: entry %d of %d bytes in %d, want %d", every, e.Time, e.Data, len(rest), taken)
				}
				for _, b := range rest[:e.Data] {
					if b != byte(taken) {
						t.Fatalf("every %d: entry %d holds %d", every, taken, b)
					}
				}
				taken++
				h.free(e)
			}
		}
		for i := 0; written < 1000; i++ {
			e, room := h.begin(int(written % 200))
			if e == nil {
				full++
				take()
				continue
			}
			e.Kind, e.Time, e.Data = viewEntry, written, uint32(written%200)
			for j := range room {
				room[j] = byte(written)
			}
			h.commit(e, int(written%200))
			written++
			if i%every == 0 {
				take()
			}
		}
		take()
		if taken != written {
			t.Errorf("every %d: %d of %d taken", every, taken, written)
		}
		if every == 30 && full == 0 {
			t.Error("the ring was never full")
		}
	}
}

func TestAnEntryThatIsGivenUpIsNotHandedOver(t *testing.T) {
	mem := make([]uint64, (controlSize+1024)/8)
	h := newHandover(bytesOf(mem))
	e, _ := h.begin(500)
	e.Kind = viewEntry
	if got, _ := h.take(); got != nil {
		t.Fatal("an open entry is taken")
	}
	e, room := h.begin(8)
	e.Kind = viewEntry
	binary.LittleEndian.PutUint64(room, 17)
	h.commit(e, 8)
	got, rest := h.take()
	if got == nil || binary.LittleEndian.Uint64(rest) != 17 {
		t.Error("the second entry is not there")
	}
}

func TestARingWithoutRoomRefuses(t *testing.T) {
	mem := make([]uint64, (controlSize+1024)/8)
	h := newHandover(bytesOf(mem))
	if e, _ := h.begin(2000); e != nil {
		t.Error("an entry that is larger than the ring")
	}
}

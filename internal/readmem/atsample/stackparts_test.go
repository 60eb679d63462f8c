package atsample

import (
	"slices"
	"testing"

	"github.com/ringtap/ringtap/callchain"
)

// readingOf returns the data of a reading with pages, each of which is given by its first byte. isNew has
// the pages to send with their bytes. If top is not 0, the first topPages of all are at address top.
func readingOf(from, top uint64, isNew map[byte]bool, all ...byte) (data []byte) {
	data = append8(nil, stacksMark)
	if top > 0 {
		data = appendPart(data, partTop, top, isNew, all[:topPages]...)
		all = all[topPages:]
	}
	return appendPart(data, partRemainder, from, isNew, all...)
}

// appendPart appends one part of such data.
func appendPart(data []byte, part, from uint64, isNew map[byte]bool, all ...byte) []byte {
	data = append8(append8(data, part), from)
	for _, n := range all {
		hash := uint64(n)<<2 | pageBit
		if !isNew[n] {
			data = append8(data, hash)
			continue
		}
		data = append8(data, hash|newPageBit)
		page := make([]byte, callchain.PageSize)
		page[0] = n
		data = append(data, page...)
	}
	return data
}

func TestPagesThatWereSentAreKnown(t *testing.T) {
	tables := pageTables{slots: 4, byCPU: make(map[int][]tablePage)}
	for i, test := range []struct {
		cpu  int
		data []byte
		want []byte // nil: no helper sends such data
	}{
		{0, readingOf(0x1000, 0, map[byte]bool{1: true, 2: true}, 1, 2), []byte{1, 2}},
		{0, readingOf(0x1000, 0, map[byte]bool{3: true}, 3, 2, 1), []byte{3, 2, 1}},
		{1, readingOf(0x1000, 0, nil, 1), nil}, // another CPU has another table
		{0, readingOf(0x1000, 0, map[byte]bool{5: true}, 5), []byte{5}},
		{0, readingOf(0x1000, 0, nil, 1), nil}, // 5 has its slot
		{0, readingOf(0x1000, 0, nil, 2, 5), []byte{2, 5}},
		{0, readingOf(0x1000, 0, nil), []byte{}},
		{0, readingOf(0x1000, 0, map[byte]bool{6: true}, 6)[:100], nil},
		{0, readingOf(0x1000, 0, nil, 2)[:20], nil},
		{0, readingOf(0x1000, 0, nil)[:9], nil},
	} {
		read, ok := tables.decode(test.cpu, test.data)
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
	if s, ok := tables.decode(0, nil); !ok || len(s.beyond.Pages) > 0 {
		t.Errorf("no data is %d pages, %v", len(s.beyond.Pages), ok)
	}
}

func TestTheTopOfAStackComesFirst(t *testing.T) {
	tables := pageTables{slots: 16, byCPU: make(map[int][]tablePage)}
	s, ok := tables.decode(0, readingOf(0x1000, 0x100000, map[byte]bool{1: true, 2: true, 3: true}, 1, 1, 1, 1, 1, 1, 1, 2, 3))
	b := s.beyond
	if !ok || b.From != 0x1000 || b.Top.From != 0x100000 || len(b.Top.Pages) != topPages || len(b.Pages) != 1 {
		t.Fatalf("%d pages at %#x, %d at %#x, %v", len(b.Pages), b.From, len(b.Top.Pages), b.Top.From, ok)
	}
	if b.Top.Pages[topPages-1][0] != 2 || b.Pages[0][0] != 3 || b.End() != 0x100000+topBytes {
		t.Errorf("the last pages are %d and %d, and end at %#x", b.Top.Pages[topPages-1][0], b.Pages[0][0], b.End())
	}
}

func FuzzPages(f *testing.F) {
	f.Add(readingOf(0x1000, 0, map[byte]bool{1: true}, 1, 1), appendPart(append8(append8(append8(append8(append8(nil, stacksMark), partGoroutine), 5), 1), 9), partOtherStack, 0x9000, nil, 1))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		known := pageTables{slots: 8, byCPU: make(map[int][]tablePage)}
		for _, data := range [][]byte{first, second} {
			s, ok := known.decode(0, data)
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

func TestThePageTableIsSmallerIfThereAreMoreCPUs(t *testing.T) {
	for cpus, want := range map[int]int{1: 2048, 2: 2048, 4: 2048, 8: 1024, 64: 128, 8192: 1} {
		if got := pageTableSize(cpus); got != want {
			t.Errorf("%d CPUs: %d pages, want %d", cpus, got, want)
		}
	}
}

func TestOtherStacksAreDecoded(t *testing.T) {
	tables := pageTables{slots: 16, byCPU: make(map[int][]tablePage)}
	data := append8(append8(append8(append8(append8(nil, stacksMark), partGoroutine), 0x5000), 0x6000), 0x7000)
	data = appendPart(data, partOtherStack, 0x9000, map[byte]bool{1: true, 2: true}, 1, 2)
	data = appendPart(data, partRemainder, 0x3000, nil, 2)
	s, ok := tables.decode(0, data)
	if !ok || len(s.others) != 1 || s.others[0].From != 0x9000 || len(s.others[0].Pages) != 2 || s.others[0].Pages[1][0] != 2 ||
		s.beyond.From != 0x3000 || len(s.beyond.Pages) != 1 || !slices.Equal(s.goroutines, []Goroutine{{0x5000, 0x6000, 0x7000}}) {
		t.Errorf("%+v, %t", s, ok)
	}
	for n := range 5 * wordSize {
		if n == 0 || n == wordSize {
			continue // no data, or stacksMark alone
		}
		if s, ok := tables.decode(0, data[:n]); ok {
			t.Errorf("%d bytes are decoded as %+v", n, s)
		}
	}
	if _, ok := tables.decode(0, appendPart(append8(nil, stacksMark), 9<<2, 0x9000, nil)); ok {
		t.Error("a part of an unknown kind is decoded")
	}
}

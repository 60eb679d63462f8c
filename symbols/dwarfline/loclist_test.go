package dwarfline

import (
	"encoding/binary"
	"slices"
	"testing"
)

// TestLocationListsOfAllForms reads lists written by hand from DWARF 5 section
// 7.7.3 and DWARF 4 section 2.6.2: compilers write few of the forms.
func TestLocationListsOfAllForms(t *testing.T) {
	u64 := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	list := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	one, two := []byte{1, 0x51}, []byte{1, 0x52} // an expression of one byte
	x := &Index{read: true, s: &sections{order: binary.LittleEndian, addr: list(u64(0x1000), u64(0x2000), u64(0x3000))}}
	d := &unitData{unit: &unit{encoding: encoding{version: 5, addrSize: 8, offsetSize: 4}}, root: root{low: 0x1000}}
	for _, tt := range []struct {
		name string
		list []byte
		addr uint64
		want []byte
	}{
		{"offset_pair", list([]byte{4, 0x10, 0x20}, one, []byte{4, 0x20, 0x30}, two, []byte{0}), 0x1020, two[1:]},
		{"behind all", list([]byte{4, 0x10, 0x20}, one, []byte{0}), 0x1020, nil},
		{"base_address", list([]byte{6}, u64(0x5000), []byte{4, 0, 8}, one, []byte{0}), 0x5007, one[1:]},
		{"base_addressx", list([]byte{1, 1, 4, 0, 8}, one, []byte{0}), 0x2000, one[1:]},
		{"startx_endx", list([]byte{2, 0, 1}, one, []byte{2, 1, 2}, two, []byte{0}), 0x2fff, two[1:]},
		{"startx_length", list([]byte{3, 2, 4}, one, []byte{0}), 0x3003, one[1:]},
		{"start_end", list([]byte{7}, u64(0x10), u64(0x20), one, []byte{0}), 0x1f, one[1:]},
		{"start_length", list([]byte{8}, u64(0x10), []byte{0x10}, one, []byte{0}), 0x20, nil},
		{"default_location", list([]byte{4, 0, 1}, one, []byte{5}, two, []byte{0}), 0x9999, two[1:]},
		{"view_pair", list([]byte{9, 1, 2, 4, 0, 8}, one, []byte{0}), 0x1000, one[1:]},
		{"empty range", list([]byte{4, 0, 0}, one, []byte{4, 0, 8}, two, []byte{0}), 0x1000, two[1:]},
		{"no end", list([]byte{4, 0, 8}, one), 0x1008, nil},
		{"unknown form", []byte{77}, 0x1000, nil},
		{"expression cut off", []byte{4, 0, 8, 9, 1}, 0x1000, nil},
	} {
		x.s.locLists = tt.list
		if got := x.locationOf5(d, 0, tt.addr); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %x, want %x", tt.name, got, tt.want)
		}
	}
	const newBase = ^uint64(0)
	expr := []byte{1, 0, 0x53} // the length has two bytes
	x.s.loc = list(u64(0), u64(8), expr, u64(newBase), u64(0x7000), u64(0), u64(4), []byte{1, 0, 0x54}, u64(0), u64(0))
	for addr, want := range map[uint64][]byte{0x1000: {0x53}, 0x1007: {0x53}, 0x1008: nil, 0x7003: {0x54}, 0x7004: nil} {
		if got := x.locationBefore5(d, 0, addr); !slices.Equal(got, want) {
			t.Errorf("%#x: %x, want %x", addr, got, want)
		}
	}
}

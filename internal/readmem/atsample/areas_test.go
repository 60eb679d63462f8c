package atsample

import (
	"slices"
	"testing"
)

func TestTheAreaOfAnAddressIsFound(t *testing.T) {
	list := []stackArea{{0x1000, 0x3000, 0}, {0x3000, 0x4000, 0}, {0x8000, 0x9000, 0}}
	for addr, want := range map[uint64]uint64{0: 0, 0xfff: 0, 0x1000: 0x3000, 0x2fff: 0x3000, 0x3000: 0x4000, 0x4000: 0, 0x8fff: 0x9000, 0x9000: 0} {
		if got := findArea(list, addr).end; got != want {
			t.Errorf("the area of %#x ends at %#x, want %#x", addr, got, want)
		}
	}
}

func TestAnAreaIsSplitWhereAStackEnds(t *testing.T) {
	list := []stackArea{{0x1000, 0x3000, 0}, {0x3000, 0x4000, 0}}
	for _, test := range []struct {
		at   uint64
		want []stackArea
	}{
		{0x2000, []stackArea{{0x1000, 0x2000, 0}, {0x2000, 0x3000, 0}, {0x3000, 0x4000, 0}}},
		{0x1000, list},
		{0x3000, list},
		{0x4000, list},
		{0x800, list},
		{0x9000, list},
	} {
		if got := splitAt(list, test.at); !slices.Equal(got, test.want) {
			t.Errorf("at %#x: %#x, want %#x", test.at, got, test.want)
		}
	}
}

func TestPartOfAnAreaIsMarkedDead(t *testing.T) {
	list := []stackArea{{0x10000, 0x30000, 0}, {0x30000, 0x40000, 0}}
	const top = 0x30000 - topBytes
	for _, test := range []struct{ from, to, want uint64 }{
		{0x12000, top, 0x12000},
		{0x12000, top - 0x1000, 0}, // the memory past it is more than topBytes
		{top, top, 0},
		{0x32000, top, 0},
		{0x2000, top, 0},
	} {
		if got := markDead(list, test.from, test.to); got[0].deadFrom != test.want || list[0].deadFrom != 0 {
			t.Errorf("marked from %#x to %#x: dead from %#x, want %#x", test.from, test.to, got[0].deadFrom, test.want)
		}
	}
	known := markDead(list, 0x12000, top)
	if got := splitAt(known, 0x20000); got[0].deadFrom != 0 || got[1].deadFrom != 0 {
		t.Errorf("after the split memory is dead from %#x and %#x", got[0].deadFrom, got[1].deadFrom)
	}
}

package process

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The list that all cases start from: two files with a gap, and a third right
// behind the second. Offsets begin at one page, so that a lost one shows.
func layout() (list []mapping, fresh *Object) {
	a, b, c := &Object{Path: "a"}, &Object{Path: "b"}, &Object{Path: "c"}
	return []mapping{
		{0x10, 0x20, 0x100, a},
		{0x30, 0x40, 0x200, b},
		{0x40, 0x50, 0x300, c},
	}, &Object{Path: "n"}
}

func format(list []mapping) string {
	var parts []string
	for _, m := range list {
		parts = append(parts, fmt.Sprintf("%s %x-%x@%x", m.object.Path, m.start, m.end, m.offset))
	}
	return strings.Join(parts, ", ")
}

func TestOverlayReplacesWhatItCovers(t *testing.T) {
	tests := []struct {
		name       string
		start, end uint64
		hole       bool
		want       string
	}{
		{"before all", 0x08, 0x10, false, "n 8-10@900, a 10-20@100, b 30-40@200, c 40-50@300"},
		{"after all", 0x50, 0x58, false, "a 10-20@100, b 30-40@200, c 40-50@300, n 50-58@900"},
		{"in the gap", 0x20, 0x30, false, "a 10-20@100, n 20-30@900, b 30-40@200, c 40-50@300"},
		{"exactly one", 0x30, 0x40, false, "a 10-20@100, n 30-40@900, c 40-50@300"},
		{"the begin of one", 0x30, 0x38, false, "a 10-20@100, n 30-38@900, b 38-40@208, c 40-50@300"},
		{"the end of one", 0x38, 0x40, false, "a 10-20@100, b 30-38@200, n 38-40@900, c 40-50@300"},
		{"the middle of one", 0x34, 0x38, false, "a 10-20@100, b 30-34@200, n 34-38@900, b 38-40@208, c 40-50@300"},
		{"over the begin of one", 0x28, 0x38, false, "a 10-20@100, n 28-38@900, b 38-40@208, c 40-50@300"},
		{"over the end of one", 0x18, 0x28, false, "a 10-18@100, n 18-28@900, b 30-40@200, c 40-50@300"},
		{"one and more on both sides", 0x0c, 0x24, false, "n c-24@900, b 30-40@200, c 40-50@300"},
		{"the ends of two", 0x18, 0x38, false, "a 10-18@100, n 18-38@900, b 38-40@208, c 40-50@300"},
		{"the ends of two and one between", 0x18, 0x48, false, "a 10-18@100, n 18-48@900, c 48-50@308"},
		{"the touching ends of two", 0x3c, 0x44, false, "a 10-20@100, b 30-3c@200, n 3c-44@900, c 44-50@304"},
		{"all", 0x00, 0x60, false, "n 0-60@900"},
		{"hole in the middle of one", 0x34, 0x38, true, "a 10-20@100, b 30-34@200, b 38-40@208, c 40-50@300"},
		{"hole over one", 0x28, 0x40, true, "a 10-20@100, c 40-50@300"},
		{"hole over nothing", 0x20, 0x30, true, "a 10-20@100, b 30-40@200, c 40-50@300"},
		{"hole over all", 0x00, 0x60, true, ""},
	}
	for _, test := range tests {
		list, fresh := layout()
		m := mapping{test.start, test.end, 0x900, fresh}
		if test.hole {
			m.object = nil
		}
		if got := format(overlay(list, m)); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// The model is an array of addresses, each with its object and offset.
func TestOverlayAgreesWithAModelOfSingleBytes(t *testing.T) {
	type cell struct {
		object *Object
		offset uint64
	}
	random := rand.New(rand.NewPCG(1, 2))
	var model [256]cell
	var list []mapping
	for range 5000 {
		start := random.Uint64N(255)
		m := mapping{start: start, end: start + 1 + random.Uint64N(min(64, 256-start)), offset: random.Uint64N(1 << 20)}
		if random.IntN(3) > 0 {
			m.object = &Object{}
		}
		list = overlay(list, m)
		for at := m.start; at < m.end; at++ {
			model[at] = cell{m.object, m.offset + at - m.start}
		}
		for at := range uint64(256) {
			got := cell{}
			if i, ok := find(list, at); ok {
				got = cell{list[i].object, list[i].offset + at - list[i].start}
			}
			if want := model[at]; got.object != want.object || want.object != nil && got != want {
				t.Fatalf("address %d is %v; want %v", at, got, want)
			}
		}
		if !slices.IsSortedFunc(list, func(a, b mapping) int { return int(a.end) - int(b.start) }) {
			t.Fatalf("not sorted or overlapping: %s", format(list))
		}
	}
}

func TestOverlayStopsAtTheMostMappings(t *testing.T) {
	object := &Object{}
	var list []mapping
	for i := range uint64(maxMappings + 10) {
		list = overlay(list, mapping{start: 2 * i, end: 2*i + 1, object: object})
	}
	if len(list) != maxMappings {
		t.Errorf("%d mappings; want %d", len(list), maxMappings)
	}
	list = overlay(list, mapping{start: 0, end: 1 << 20, object: object})
	if len(list) != 1 {
		t.Errorf("%d mappings after one over all of them; want 1", len(list))
	}
}

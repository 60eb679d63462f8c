package live

import (
	"testing"
)

// windowOf is what looked at a window in which values came so often: 1 as often as the first says, 2
// as the second.
func windowOf(times ...int) *repeats {
	r := &repeats{seen: make(map[values]*seen)}
	for i, n := range times {
		r.seen[valued(i+1)] = &seen{times: n}
	}
	return r
}

func valued(n int) values { return values{n: [maxValues]uint64{uint64(n)}} }

func TestTheMostFrequentValuesAreCountedInTheKernel(t *testing.T) {
	for _, tt := range []struct {
		name  string
		times []int
		known int // of the values, from 101 on
		most  []int
	}{
		{"two of a storm", []int{250, 3, 255, 4}, 0, []int{3, 1}},
		{"what is too little together", []int{100, 20, 20, 20, 20}, 0, nil},
		{"a few of many", []int{32, 33, 34, 35, 31, 1}, 0, []int{4, 3, 2, 1}},
		{"no more than half of the room for what is little", []int{50, 51, 52, 53, 54, 55, 56, 57}, 0, []int{8, 7, 6, 5, 4, 3}},
		{"the storm where there is half of the room", []int{200, 201, 50}, 6, []int{2, 1}},
		{"one where there is room for one", []int{200, 201}, 11, []int{2}},
		{"none where there is no room", []int{200, 201}, 12, nil},
	} {
		var before []kept
		for i := range tt.known {
			before = append(before, kept{values: valued(101 + i)})
		}
		got := windowOf(tt.times...).most(before)
		same := len(got) == len(tt.most)
		for i := range got {
			same = same && got[i] == valued(tt.most[i])
		}
		if !same {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.most)
		}
	}
	if got := windowOf(300, 200).most([]kept{{values: valued(1)}}); len(got) != 1 || got[0] != valued(2) {
		t.Errorf("beside one that is kept: %v", got)
	}
}

func TestAStormLasts(t *testing.T) {
	r := &repeats{}
	for i, tt := range []struct {
		took uint64
		want bool
	}{{storm, false}, {1, false}, {storm, true}, {2, true}, {storm + 1, false}, {storm, false}, {storm, false}, {storm, true}} {
		r.to = r.from + tt.took
		if got := r.isStorm(); got != tt.want {
			t.Errorf("window %d: %v", i, got)
		}
	}
}

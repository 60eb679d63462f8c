package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDistanceIsLevenshteins(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"on-cpu", "on-cpu", 0},
		{"", "check", 5},
		{"oncpu", "on-cpu", 1},
		{"on_cpu", "on-cpu", 1},
		{"chekc", "check", 2},
		{"kitten", "sitting", 3},
		{"saturday", "sunday", 3},
	} {
		for _, row := range [][]int{nil, make([]int, 20)} {
			for most := range 10 {
				for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
					got := Distance(pair[0], pair[1], most, row)
					if got != test.want && (got <= most || test.want <= most) {
						t.Errorf("Distance(%q, %q, %d) = %d, want %d", pair[0], pair[1], most, got, test.want)
					}
				}
			}
		}
	}
}

func TestTheNearestNamesAreKeptInTheirOrder(t *testing.T) {
	byLast := func(a, b string) int { return strings.Compare(a[len(a)-1:], b[len(b)-1:]) }
	for _, test := range []struct {
		about       string
		limit, most int
		compare     func(a, b string) int
		add, want   string
	}{
		{"fewest edits first", 3, 5, nil, "abxx abcx abcd abc", "abcd abcx abc abxx"},
		{"none beyond the limit", 1, 5, nil, "abxx abcx", "abcx"},
		{"equal ones as they come", 3, 5, nil, "abcz abc abca", "abcz abc abca"},
		{"equal ones as they are compared", 3, 5, byLast, "abcz abca abcy", "abca abcy abcz"},
		{"the shortest of equal ones first", 3, 5, ShortestFirst, "abcdz abcda abc", "abc abcda abcdz"},
		{"no more than wanted", 3, 2, nil, "abxx abcx abcd abc", "abcd abcx"},
		{"no more than wanted of equal ones", 3, 2, byLast, "abcz abcy abca abcx", "abca abcx"},
		{"each name once", 3, 3, ShortestFirst, "abcx abcx abcd abcx abcd", "abcd abcx"},
		{"each name once where there are too many", 3, 2, ShortestFirst, "abxx abcx abcd abxx abcd abcx", "abcd abcx"},
		{"none", 0, 3, nil, "", ""},
	} {
		n := NewNearest("abcd", test.limit, test.most, test.compare)
		for _, name := range strings.Fields(test.add) {
			n.Add(name)
		}
		if got := n.Names(); !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("%s: %q, want %q", test.about, got, test.want)
		}
	}
}

func TestACostOfTheCallersIsOneLikeAnother(t *testing.T) {
	n := NewNearest("read", 2, 3, nil)
	n.AddCost("vfs_read", 2)
	n.AddCost("ksys_read", 3)
	n.Add("reed")
	if got := n.Names(); !slices.Equal(got, []string{"reed", "vfs_read"}) {
		t.Errorf("%q", got)
	}
}

func ExampleNearest() {
	n := NewNearest("mallok", 2, 3, nil)
	for _, name := range []string{"calloc", "free", "malloc"} {
		n.Add(name)
	}
	fmt.Println(n.Names())
	// Output: [malloc calloc]
}

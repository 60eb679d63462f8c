package edits

import (
	"fmt"
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
			if got := Distance(test.a, test.b, row); got != test.want {
				t.Errorf("Distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
			}
			if got := Distance(test.b, test.a, row); got != test.want {
				t.Errorf("Distance(%q, %q) = %d, want %d", test.b, test.a, got, test.want)
			}
		}
	}
}

func ExampleDistance() {
	fmt.Println(Distance("mallok", "malloc", nil))
	// Output: 1
}

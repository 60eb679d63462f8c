package perfevent

import (
	"slices"
	"testing"
)

func TestParseCPUs(t *testing.T) {
	tests := []struct {
		list string
		want []int
		ok   bool
	}{
		{"0", []int{0}, true},
		{"0-1", []int{0, 1}, true},
		{"0-2,5,7-8", []int{0, 1, 2, 5, 7, 8}, true},
		{"", nil, false},
		{"3-1", nil, false},
		{"0-x", nil, false},
		{"0-99999999", nil, false},
	}
	for _, tt := range tests {
		got, err := ParseCPUs(tt.list)
		if (err == nil) != tt.ok || !slices.Equal(got, tt.want) {
			t.Errorf("ParseCPUs(%q) = %v, %v", tt.list, got, err)
		}
	}
}

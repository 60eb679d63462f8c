package process

import (
	"testing"
	"time"
)

func TestCPUTimeIsOfAProcessAndItsChildren(t *testing.T) {
	tests := []struct {
		stat string
		want CPUTime
		ok   bool
	}{
		{"7 (sh) S 1 7 7 0 -1 4194304 99 98 0 0 12 3 400 50 20 0 1 0 5 6 7", CPUTime{4120 * time.Millisecond, 530 * time.Millisecond}, true},
		{"7 (a) b) S 1 7 7 0 -1 4194304 99 98 0 0 1 2 3 4 20 0 1 0 5 6 7", CPUTime{40 * time.Millisecond, 60 * time.Millisecond}, true},
		{"7 (sh) S 1 7 7 0 -1 4194304 99 98 0 0 12 3 400", CPUTime{}, false},
		{"7 (sh) S 1 7 7 0 -1 4194304 99 98 0 0 12 3 x 50 20", CPUTime{}, false},
		{"", CPUTime{}, false},
	}
	for _, tt := range tests {
		if got, ok := parseCPUTime([]byte(tt.stat)); got != tt.want || ok != tt.ok {
			t.Errorf("parseCPUTime(%q) = %v, %v, want %v, %v", tt.stat, got, ok, tt.want, tt.ok)
		}
	}
}

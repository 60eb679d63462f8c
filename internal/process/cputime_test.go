package process

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCPUTimeIsOfAProcessAndItsChildren(t *testing.T) {
	host := Host{Proc: t.TempDir()}
	if err := os.Mkdir(filepath.Join(host.Proc, "7"), 0o755); err != nil {
		t.Fatal(err)
	}
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
		if err := os.WriteFile(host.Path(7, "stat"), []byte(tt.stat), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := host.CPUTime(7); got != tt.want || (err == nil) != tt.ok {
			t.Errorf("CPUTime of %q = %v, %v, want %v, %v", tt.stat, got, err, tt.want, tt.ok)
		}
	}
}

package output

import (
	"math"
	"testing"

	"github.com/ringtap/ringtap/internal/profile"
)

func TestQuantityIsInTheUnitThatSuits(t *testing.T) {
	for _, tt := range []struct {
		count uint64
		unit  string
		scale uint64
		want  string
	}{
		{0, "nanoseconds", 1, "0 ns"},
		{999, "nanoseconds", 1, "999 ns"},
		{1500, "nanoseconds", 1, "1.5 µs"},
		{999_999, "nanoseconds", 1, "1000 µs"},
		{49, "nanoseconds", 20408163, "1000 ms"},
		{50, "nanoseconds", 20408163, "1.02 s"},
		{90_000_000_000, "nanoseconds", 1, "90 s"},
		{3_725_000_000_000, "nanoseconds", 1, "1h2m5s"},
		{math.MaxUint64, "nanoseconds", 20408163, "2562047h47m16s"},
		{1023, "bytes", 1, "1023 B"},
		{3 << 19, "bytes", 1, "1.5 MiB"},
		{3, "bytes", 4096, "12 KiB"},
		{math.MaxUint64, "bytes", 1, "16 EiB"},
		{7, "counts", 1000, "7000"},
		{7, "counts", 0, "7"},
	} {
		m := profile.Metric{Unit: tt.unit, Scale: tt.scale}
		if got := quantity(tt.count, &m); got != tt.want {
			t.Errorf("%d × %d %s is %q, want %q", tt.count, tt.scale, tt.unit, got, tt.want)
		}
	}
}

func TestPercentNeverRoundsToNothingOrAll(t *testing.T) {
	for _, tt := range []struct {
		part, whole uint64
		want        string
	}{
		{0, 0, "0%"},
		{0, 5, "0%"},
		{5, 5, "100%"},
		{99999, 100000, "99.9%"},
		{1, 3, "33.3%"},
		{1, 1000, "0.1%"},
		{1, 10_000_000, "<0.001%"},
	} {
		if got := percent(tt.part, tt.whole); got != tt.want {
			t.Errorf("percent(%d, %d) = %q, want %q", tt.part, tt.whole, got, tt.want)
		}
	}
}

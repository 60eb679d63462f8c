package main

import (
	"testing"
	"time"
)

func TestAStampIsTheTimeOfDay(t *testing.T) {
	day := time.Date(2026, 11, 22, 10, 53, 55, 0, time.FixedZone("", -5*3600))
	stamp := stamps(day, 1000)
	for nanoseconds, want := range map[uint64]string{
		1000:          "2026-11-22T10:53:55.000000-05:00 ",
		1000 + 1.5e9:  "2026-11-22T10:53:56.500000-05:00 ",
		0:             "2026-11-22T10:53:54.999999-05:00 ",
		1000 + 3600e9: "2026-11-22T11:53:55.000000-05:00 ",
	} {
		if got := string(stamp(nil, nanoseconds)); got != want {
			t.Errorf("%d: %q, want %q", nanoseconds, got, want)
		}
	}
}

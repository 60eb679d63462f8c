package main

import (
	"testing"
	"time"
)

func TestProgressIsTheSamplesAndThenTheNames(t *testing.T) {
	for want, p := range map[string]progress{
		"sampling 2s: 7 samples in this interval (Ctrl-C to end)": {Elapsed: 1600 * time.Millisecond, Samples: 7},
		"symbolizing 3 of 9 frames":                               {Named: 3, Frames: 9},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

package main

import (
	"testing"
	"time"
)

func TestSecondsAreANumberOrHaveAUnit(t *testing.T) {
	for _, test := range []struct {
		text string
		want time.Duration // 0: refused
	}{
		{"5", 5 * time.Second},
		{"0.5", 500 * time.Millisecond},
		{".5", 500 * time.Millisecond},
		{"1e3", 1000 * time.Second},
		{"500ms", 500 * time.Millisecond},
		{"1h30m", 90 * time.Minute},
		{"1e-9", 1},
		{"9223372036", 9223372036 * time.Second},
		{"9223372036.9", 0}, // 2^63 nanoseconds and more
		{"1e-10", 0},
		{"1e300", 0},
		{"-1e300", 0},
		{"9999999h", 0},
		{"Inf", 0},
		{"-Inf", 0},
		{"NaN", 0},
		{"0", 0},
		{"-1", 0},
		{"-1s", 0},
		{"", 0},
		{"soon", 0},
		{"5 s", 0},
	} {
		s := secondsFlag(time.Hour)
		err := s.Set(test.text)
		switch {
		case test.want == 0 && (err == nil || s != secondsFlag(time.Hour)):
			t.Errorf("%q is %v, %v; want an error and the value from before", test.text, time.Duration(s), err)
		case test.want != 0 && (err != nil || time.Duration(s) != test.want):
			t.Errorf("%q is %v, %v; want %v", test.text, time.Duration(s), err, test.want)
		}
	}
}

func TestSecondsAreWrittenAsTheyAreRead(t *testing.T) {
	for _, d := range []time.Duration{time.Nanosecond, 10 * time.Millisecond, 1500 * time.Millisecond, 48 * time.Hour} {
		written, read := secondsFlag(d), secondsFlag(0)
		if err := read.Set(written.String()); err != nil || read != written {
			t.Errorf("%v is written %q and read as %v, %v", d, &written, time.Duration(read), err)
		}
	}
}

package main

import (
	"bytes"
	"testing"
	"time"
)

func TestTheFirstHitsComeWithTheirStacks(t *testing.T) {
	const stack = "  a-1 [000] 1.0: <user stack trace>\n => f\n => main\n"
	for _, test := range []struct {
		left   uint64
		writes []string
		want   string
		ended  bool
	}{
		{0, []string{"1\n2\n", "3\n"}, "1\n2\n3\n", false},
		{2, []string{"1\n2\n3\n"}, "1\n2\n", true},
		{2, []string{"1\n", "2\n", "3\n"}, "1\n2\n", true},
		{3, []string{"1\n2\n"}, "1\n2\n", false},
		{1, []string{"1\n" + stack + "2\n" + stack}, "1\n" + stack, true},
		{2, []string{"1\n" + stack + "2\n" + stack, "3\n"}, "1\n" + stack + "2\n" + stack, true},
	} {
		var out bytes.Buffer
		ended := false
		hits := firstHits{to: &out, left: test.left, enough: func() { ended = true }}
		for _, text := range test.writes {
			if n, err := hits.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("wrote %d of %q, %v", n, text, err)
			}
		}
		if out.String() != test.want || ended != test.ended {
			t.Errorf("the first %d of %q: %q, ended %t", test.left, test.writes, out.String(), ended)
		}
	}
}

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

package session

import (
	"strings"
	"testing"
	"time"
)

func TestPeriodsOfIntervals(t *testing.T) {
	for words, want := range map[string]string{
		"s:1": "1s", "ms:100": "100ms", "us:1000": "1ms", "hz:4": "250ms", "1s": "1s", "250ms": "250ms", "1000000": "1ms",
		"s:0": "", "s:x": "", "days:1": "", "ns:1": "", "s:99999999999999": "", "hz:99999999999": "", "s:-1": "",
	} {
		got, err := parsePeriod(strings.Split(words, ":"))
		if want == "" {
			if err == nil {
				t.Errorf("%s is taken: %v", words, got)
			}
			continue
		}
		if d, _ := time.ParseDuration(want); err != nil || d != got {
			t.Errorf("%s: %v, %v, want %s", words, got, err, want)
		}
	}
}

package python

import (
	"slices"
	"testing"
)

// What a CPython says of itself is believed if it is of the release that it should be.
func TestOffsetsOfAnotherReleaseAreRefused(t *testing.T) {
	for _, r := range recordings(t) {
		for minor := described; minor <= newest && r.Minor >= described; minor++ {
			b := slices.Concat(r.Offsets, make([]byte, offsetsSize(newest)))
			if _, ok := parseOffsets(b, minor); ok != (minor == r.Minor) {
				t.Errorf("those of 3.%d as of 3.%d: %t", r.Minor, minor, ok)
			}
		}
		if r.Minor < described {
			continue
		}
		if _, ok := parseOffsets(r.Offsets[:offsetsSize(r.Minor)-1], r.Minor); ok {
			t.Errorf("3.%d: those that are cut are believed", r.Minor)
		}
	}
}

func FuzzOffsets(f *testing.F) {
	for _, r := range recordings(f) {
		if r.Minor >= described {
			f.Add(r.Offsets, byte(r.Minor-described))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, release byte) {
		minor := described + int(release)%(newest-described+1)
		o, ok := parseOffsets(b, minor)
		if !ok {
			return
		}
		l, ok := o.layout(minor)
		if ok && max(l.threadSize(), l.frameSize(), l.codeSize(), l.ascii, l.ucs) > maxStruct {
			t.Errorf("%+v", l)
		}
	})
}

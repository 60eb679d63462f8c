package interp

import (
	"slices"
	"testing"

	"github.com/ringtap/ringtap/callchain"
)

// FuzzJumps decodes bytes as code of both architectures.
func FuzzJumps(f *testing.F) {
	f.Add([]byte{0x0f, 0x84, 0, 0, 0, 0x80, 0xeb, 0xfe, 0xe9})
	f.Add([]byte{0xff, 0xff, 0xff, 0x17, 0x41, 0, 0, 0x54})
	f.Fuzz(func(t *testing.T, code []byte) {
		for _, arch := range []callchain.Arch{callchain.AMD64, callchain.ARM64} {
			e := extent{1 << 20, 1<<20 + uint64(len(code))}
			p := &pieces{arch: arch}
			called, handlers := len(slices.Collect(p.calls(e.start, code))), len(slices.Collect(p.handlers(e.start, code)))
			if handlers > called || called > len(code) || p.dispatches(code) > len(code) {
				t.Errorf("%d handlers of %d calls", handlers, called)
			}
			firstLoad(e.start, code, arch)
			n := 0
			for to := range p.jumps(e, code) {
				if n++; e.has(to) || n > len(code) {
					t.Errorf("jump %d to %#x", n, to)
				}
			}
		}
	})
}

package interp

import (
	"slices"
	"testing"

	"github.com/ringtap/ringtap/callchain"
)

func TestWhatCodeCallsAndHowItGoesOn(t *testing.T) {
	for _, test := range []struct {
		name       string
		arch       callchain.Arch
		code       []byte
		calls      []uint64
		handlers   []uint64
		dispatches int
	}{
		{"amd64", callchain.AMD64, []byte{
			0xe8, 0x10, 0, 0, 0, // call
			0xff, 0xe0, // jmp *%rax
			0x06,                         // no instruction
			0xff, 0x24, 0xc5, 0, 0, 0, 0, // jmp *0(,%rax,8)
			0xeb, 0xfe, // jmp
			0xff, 0xd0, // call *%rax
			0xe8, 0xe8, 0xff, 0xff, 0xff, // call
			0xe8, 0, // cut
		}, []uint64{0x1015, 0x1000}, []uint64{0x1015}, 2},
		{"arm64", callchain.ARM64, []byte{
			0x04, 0, 0, 0x94, // bl
			0x20, 0, 0x1f, 0xd6, // br x1
			0x20, 0, 0x3f, 0xd6, // blr x1
			0, 0, 0, 0x14, // b
			0xfc, 0xff, 0xff, 0x97, // bl
			0x04, 0, // cut
		}, []uint64{0x1010, 0x1000}, []uint64{0x1010}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := pieces{arch: test.arch}
			if got := slices.Collect(p.calls(0x1000, test.code)); !slices.Equal(got, test.calls) {
				t.Errorf("it calls %#x, want %#x", got, test.calls)
			}
			if got := slices.Collect(p.handlers(0x1000, test.code)); !slices.Equal(got, test.handlers) {
				t.Errorf("handlers %#x, want %#x", got, test.handlers)
			}
			if got := p.dispatches(test.code); got != test.dispatches {
				t.Errorf("%d dispatches, want %d", got, test.dispatches)
			}
		})
	}
}

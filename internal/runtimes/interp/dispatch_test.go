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

func TestWhatAFunctionLoadsFirst(t *testing.T) {
	for _, test := range []struct {
		name string
		arch callchain.Arch
		code []byte
		want uint64
	}{
		{"amd64", callchain.AMD64, []byte{
			0x48, 0x89, 0xe5, // mov %rsp,%rbp
			0x8b, 0x05, 0x10, 0, 0, 0, // mov 0x10(%rip),%eax: no word
			0x48, 0x8b, 0x5b, 0x08, // mov 8(%rbx),%rbx
			0x48, 0x8b, 0x1d, 0xf0, 0xff, 0xff, 0xff, // mov -0x10(%rip),%rbx
			0x48, 0x8b, 0x1d, 0, 0, 0, 0,
		}, 0x1014 - 0x10},
		{"amd64 without any", callchain.AMD64, []byte{0x48, 0x8d, 0x1d, 0, 0, 0, 0, 0xc3}, 0}, // lea, ret
		{"arm64", callchain.ARM64, []byte{
			0x14, 0x08, 0, 0xb0, // adrp x20, 0x102000
			0x61, 0x06, 0x40, 0xf9, // ldr x1, [x19, #8]
			0x94, 0x0e, 0x40, 0xf9, // ldr x20, [x20, #24]
		}, 0x102018},
		{"arm64, before it", callchain.ARM64, []byte{
			0xe0, 0xff, 0xff, 0xf0, // adrp x0, -4096
			0x00, 0, 0x40, 0xf9, // ldr x0, [x0]
		}, 0},
	} {
		got, ok := firstLoad(0x1000, test.code, test.arch)
		if got != test.want || ok != (len(test.code) > 8 || test.arch == callchain.ARM64) {
			t.Errorf("%s: %#x, %t, want %#x", test.name, got, ok, test.want)
		}
	}
}

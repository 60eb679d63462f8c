package placement

import (
	"debug/elf"
	"slices"
	"testing"
)

func TestAddressesInCodeAreFound(t *testing.T) {
	const x86, arm = elf.EM_X86_64, elf.EM_AARCH64
	for _, test := range []struct {
		name, code       string
		machine          elf.Machine
		computed, loaded []uint64
	}{
		{"lea from the program counter", "488d0510000000 c3", x86, []uint64{0x17}, nil},
		{"lea of code before it", "488d05e9ffffff c3", x86, []uint64{^uint64(0xf)}, nil},
		{"a constant of a program at a fixed address", "b860884100 c3", x86, []uint64{0x418860}, nil},
		{"a load from the global offset table", "488b0510000000 c3", x86, nil, []uint64{0x17}},
		{"a conditional load", "480f450510000000 c3", x86, nil, []uint64{0x18}},
		{"a store is no load", "48890510000000 c3", x86, nil, nil},
		{"arm64: page and offset, with another instruction between", "010000b0 1f0400f1 21003691 c0035fd6", arm, []uint64{0x1d80}, nil},
		{"arm64: a load from a page", "010000b0 213847f9 c0035fd6", arm, nil, []uint64{0x1e70}},
		{"arm64: an address nearby", "80000010 c0035fd6", arm, []uint64{0x10}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := function(t, test.machine, test.code)
			f.Addr = 0
			computed, loaded := f.Addresses()
			if !slices.Equal(computed, test.computed) || !slices.Equal(loaded, test.loaded) {
				t.Errorf("computed %#x, loaded %#x; want %#x, %#x", computed, loaded, test.computed, test.loaded)
			}
		})
	}
}

package callchain

import (
	"math/bits"
	"testing"
)

func TestRegistersAreTakenInTheOrderOfPerfsMask(t *testing.T) {
	values := func(n int) (v []uint64) {
		for i := range n {
			v = append(v, uint64(1000+i))
		}
		return v
	}
	for _, test := range []struct {
		name    string
		arch    Arch
		mask    uint64
		columns map[uint8]uint64
	}{
		// PERF_REG_X86_: ax bx cx dx si di bp sp ip, then r8 to r15 from bit 16 on.
		{"all of amd64", AMD64, AMD64.UserRegsMask(),
			map[uint8]uint64{0: 1000, 3: 1001, 2: 1002, 1: 1003, 4: 1004, 5: 1005, 6: 1006, 7: 1007, 16: 1008, 8: 1009, 15: 1016}},
		{"bp, sp and ip", AMD64, 1<<6 | 1<<7 | 1<<8, map[uint8]uint64{6: 1000, 7: 1001, 16: 1002}},
		{"flags between", AMD64, 1<<7 | 1<<8 | 1<<9 | 1<<16, map[uint8]uint64{7: 1000, 16: 1001, 8: 1003}},
		{"all of arm64", ARM64, ARM64.UserRegsMask(), map[uint8]uint64{0: 1000, 29: 1029, 30: 1030, 31: 1031, 32: 1032}},
		{"beyond what is known", ARM64, 1<<31 | 1<<32 | 1<<46, map[uint8]uint64{31: 1000, 32: 1001}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r Regs
			n := bits.OnesCount64(test.mask)
			if err := r.Load(test.arch, test.mask, values(n)); err != nil {
				t.Fatal(err)
			}
			for column, want := range test.columns {
				if !r.has(column) || r.v[column] != want {
					t.Errorf("column %d is %d, known %v; want %d", column, r.v[column], r.has(column), want)
				}
			}
		})
	}
}

func TestRegistersThatCannotBeUnwoundAreRefused(t *testing.T) {
	for _, test := range []struct {
		name   string
		arch   Arch
		mask   uint64
		values int
	}{
		{"fewer values than bits", AMD64, AMD64.UserRegsMask(), 16},
		{"no stack pointer", AMD64, 1 << 8, 1},
		{"no pc", ARM64, 1 << 31, 1},
		{"unknown machine", 0, 1, 1},
	} {
		var r Regs
		if err := r.Load(test.arch, test.mask, make([]uint64, test.values)); err == nil {
			t.Errorf("%s: no error", test.name)
		}
	}
}

package placement

import (
	"debug/elf"
	"slices"
	"testing"
)

func TestEveryWayOutOfAFunctionIsFound(t *testing.T) {
	const x86, arm = elf.EM_X86_64, elf.EM_AARCH64
	for _, test := range []struct {
		name    string
		machine elf.Machine
		code    string
		want    Exits
	}{
		{"returns", x86, "55 5d c3 f3c3", Exits{Returns: []int{2, 3}}},
		{"a jump within is none", x86, "eb01 90 c3", Exits{Returns: []int{3}}},
		{"a jump to another function", x86, "7401 c3 e900100000", Exits{Returns: []int{2}, Outside: []int{0x1008}}},
		{"a branch to a cold part before it", x86, "0f84faefffff c3", Exits{Returns: []int{6}, Outside: []int{-0x1000}}},
		{"a jump by a register", x86, "c3 ffe0", Exits{Returns: []int{0}, Indirect: true}},
		{"a switch that is marked", x86, "c3 3effe0", Exits{Returns: []int{0}}},
		{"a call is none", x86, "e800100000 c3", Exits{Returns: []int{5}}},
		{"arm64: returns and a jump", arm, "40000034 c0035fd6 00040014", Exits{Returns: []int{4}, Outside: []int{0x1008}}},
		{"arm64: a jump by a register", arm, "00021fd6 c0035fd6", Exits{Returns: []int{4}, Indirect: true}},
		{"arm64: a constant that looks like a return", arm, "40000018 c0035fd6 c0035fd6", Exits{Returns: []int{4}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := function(t, test.machine, test.code).Exits()
			if err != nil || !slices.Equal(got.Returns, test.want.Returns) || !slices.Equal(got.Outside, test.want.Outside) || got.Indirect != test.want.Indirect {
				t.Errorf("%+v, %v; want %+v", got, err, test.want)
			}
		})
	}
	if _, err := function(t, x86, "c3 06 c3").Exits(); err == nil {
		t.Error("code that can't be read has exits")
	}
}

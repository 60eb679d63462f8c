package snapshot

import (
	"encoding/binary"
	"slices"
	"testing"
)

// arm64Code is a process's memory, word by word.
type arm64Code map[uint64]uint32

func (c arm64Code) add(addr uint64, words ...uint32) {
	for i, w := range words {
		c[addr+4*uint64(i)] = w
	}
}

func (c arm64Code) read(addr uint64, b []byte) (n int) {
	for ; n+4 <= len(b) && addr < 0x10000; n += 4 {
		binary.LittleEndian.PutUint32(b[n:], c[addr+uint64(n)])
	}
	return n
}

func TestCallsOfALeafAreFound(t *testing.T) {
	const (
		push, pop, ret = 0xa9bf7bfd, 0xa8c17bfd, 0xd65f03c0 // stp x29, x30, [sp, #-16]!, ldp x29, x30, [sp], #16
		svc, mov, blr  = 0xd4000001, 0xd2800408, 0xd63f0000
	)
	to := func(op uint32, from, to uint64) uint32 { return op<<26 | uint32(to-from)/4&(1<<26-1) }
	bl := func(from, target uint64) uint32 { return to(0b100101, from, target) }
	b := func(from, target uint64) uint32 { return to(0b000101, from, target) }
	const leaf, stub, other = 0x2000, 0x3000, 0x5000
	code := arm64Code{}
	code.add(leaf, mov, svc, 0xb13ffc1f, 0x54000042, ret, b(leaf+0x14, other)) // cmn x0, #4095; b.cs
	code.add(stub, 0xb0000010, 0xf9400611, 0x91002210, 0xd61f0220)             // adrp x16; ldr x17, [x16, #8]; add; br x17
	code.add(0x4008, leaf, 0)
	code.add(other, push, blr, pop, ret)
	for _, test := range []struct {
		name  string
		start uint64
		code  []uint32
		want  []uint64
	}{
		{"a call", 0x1000, []uint32{push, bl(0x1004, leaf), pop, ret}, []uint64{0x1008}},
		{"by a stub", 0x1100, []uint32{push, bl(0x1104, stub), pop, ret}, []uint64{0x1108}},
		{"behind a branch", 0x1200, []uint32{push, 0x34000060, pop, ret, bl(0x1210, leaf), b(0x1214, 0x1208)}, []uint64{0x1214}}, // cbz w0, #12
		{"in what it goes on to", 0x1300, []uint32{b(0x1300, 0x1000)}, []uint64{0x1008}},
		{"of another function", 0x1400, []uint32{push, bl(0x1404, other), pop, ret}, nil},
		{"of what follows a call that does not return", 0x1500, []uint32{push, bl(0x1504, other), push, bl(0x150c, leaf), pop, ret}, nil},
		{"of what follows the end", 0x1600, []uint32{ret, bl(0x1604, leaf)}, nil},
		{"in a circle", 0x1700, []uint32{b(0x1700, 0x1700)}, nil},
		{"where no code can be read", 0x10000, nil, nil},
	} {
		code.add(test.start, test.code...)
		if got := newFlow(leaf+8, code.read).callsOf(test.start); !slices.Equal(got, test.want) {
			t.Errorf("%s: %#x, want %#x", test.name, got, test.want)
		}
	}
}

// Whatever the code is, following it ends.
func FuzzFlow(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0x14})
	f.Add([]byte{0xfd, 0x7b, 0xbf, 0xa9, 0xff, 0xff, 0xff, 0x97})
	f.Fuzz(func(t *testing.T, code []byte) {
		const start = 0x7000
		read := func(addr uint64, b []byte) int {
			if addr < start || addr-start >= uint64(len(code)) {
				return 0
			}
			return copy(b, code[addr-start:])
		}
		flow := newFlow(start+4, read)
		for _, site := range flow.callsOf(start) {
			if op, ok := flow.insn(site - 4); !ok || !isBL(op) {
				t.Errorf("%#x is behind no call", site)
			}
		}
	})
}

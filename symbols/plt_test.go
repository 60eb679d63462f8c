package symbols

import (
	"encoding/binary"
	"slices"
	"testing"
)

func words(insns ...uint32) []byte {
	var b []byte
	for _, w := range insns {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

func TestStubsARM64(t *testing.T) {
	const plt = 0x5f0
	first := []uint32{
		0xa9bf7bf0, // stp  x16, x30, [sp, #-16]!
		0xf00000f0, // adrp x16, 0x1f000
		0xf947fe11, // ldr  x17, [x16, #4088]
		0x913fe210, // add  x16, x16, #0xff8
		0xd61f0220, // br   x17
		0xd503201f, // nop
		0xd503201f, // nop
		0xd503201f, // nop
	}
	tests := []struct {
		name  string
		insns []uint32
		want  []stub
	}{
		{"plain", append(slices.Clone(first),
			0x90000110, // adrp x16, 0x20000
			0xf9400211, // ldr  x17, [x16]
			0x91000210, // add  x16, x16, #0
			0xd61f0220, // br   x17
			0x90000110, // adrp x16, 0x20000
			0xf9400611, // ldr  x17, [x16, #8]
			0x91002210, // add  x16, x16, #8
			0xd61f0220, // br   x17
		), []stub{
			{addr: plt + 4, size: 16, slot: 0x1fff8},
			{addr: plt + 32, size: 16, slot: 0x20000},
			{addr: plt + 48, size: 16, slot: 0x20008},
		}},
		{"with branch target identification", []uint32{
			0xd503245f, // bti  c
			0x90000110, // adrp x16, 0x20000
			0xf9400a11, // ldr  x17, [x16, #16]
			0x91004210, // add  x16, x16, #16
			0xd61f0220, // br   x17
			0xd503201f, // nop
		}, []stub{{addr: plt, size: 20, slot: 0x20010}}},
		{"page below the code", []uint32{
			0xf0fffff0, // adrp x16, 0xfffffffffffff000
			0xf9400211, // ldr  x17, [x16]
		}, []stub{{addr: plt, size: 8, slot: 0xfffffffffffff000}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := stubsARM64(words(tt.insns...), plt, 0); !slices.Equal(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestStubsAMD64(t *testing.T) {
	code := []byte{
		// 0x1020: push 0x2fca(%rip); jmp *0x2fcc(%rip); nopl 0(%rax)
		0xff, 0x35, 0xca, 0x2f, 0, 0, 0xff, 0x25, 0xcc, 0x2f, 0, 0, 0x0f, 0x1f, 0x40, 0,
		// 0x1030: jmp *0x2fca(%rip); push $0; jmp 0x1020
		0xff, 0x25, 0xca, 0x2f, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff,
		// 0x1040: endbr64; push $1; jmp 0x1020; xchg %ax,%ax
		0xf3, 0x0f, 0x1e, 0xfa, 0x68, 1, 0, 0, 0, 0xe9, 0xd2, 0xff, 0xff, 0xff, 0x66, 0x90,
		// 0x1050: endbr64; bnd jmp *0x2fa5(%rip); nopl 0(%rax,%rax,1)
		0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xa5, 0x2f, 0, 0, 0x0f, 0x1f, 0x44, 0, 0,
	}
	want := []stub{
		{addr: 0x1030, size: 16, slot: 0x4000},
		{addr: 0x1040, size: 16, index: 1},
		{addr: 0x1050, size: 16, slot: 0x4000},
	}
	if got := stubsAMD64(code, 0x1020, 16); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// A static program's: jmp *0x3fe2(%rip); xchg %ax,%ax, twice.
	code = slices.Repeat([]byte{0xff, 0x25, 0xe2, 0x3f, 0, 0, 0x66, 0x90}, 2)
	want = []stub{{addr: 0x1018, size: 8, slot: 0x5000}, {addr: 0x1020, size: 8, slot: 0x5008}}
	if got := stubsAMD64(code, 0x1018, 0); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

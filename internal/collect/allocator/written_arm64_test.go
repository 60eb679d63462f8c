package allocator

import (
	"encoding/binary"
	"testing"
)

func TestTheRegisterThatAnAddressIsLeftIn(t *testing.T) {
	const (
		storeX1  = 0xf9000281 // str x1, [x20]
		storeX0  = 0xf9000260 // str x0, [x19]
		spill    = 0xf90013f5 // str x21, [sp, #32]
		zero     = 0x52800000 // mov w0, #0
		popPair  = 0xa94153f3 // ldp x19, x20, [sp, #16]
		pop      = 0xf94013f5 // ldr x21, [sp, #32]
		popFrame = 0xa8c37bfd // ldp x29, x30, [sp], #48
		ret      = 0xd65f03c0
		branch   = 0x17ffffea
		loadX1   = 0xa94107e0 // ldp x0, x1, [sp, #16]
	)
	for _, test := range []struct {
		name string
		code []uint32
		want uint8
	}{
		{"glibc 2.36", []uint32{0xa9bd7bfd, spill, 0xaa0003e1, 0x52800180, 0xb4000061, zero, storeX1, popPair, pop, popFrame, ret, 0x97ffeadc, branch}, 2},
		{"the result comes next", []uint32{storeX0, zero, popFrame, ret}, 0},
		{"a second register is loaded over it", []uint32{storeX1, loadX1, ret}, 0},
		{"two stores", []uint32{storeX1, ret, storeX1, ret}, 0},
		{"it goes on elsewhere", []uint32{storeX1, branch}, 0},
		{"nothing is written", []uint32{spill, popPair, ret}, 0},
		{"no return", []uint32{storeX1}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var code []byte
			for _, word := range test.code {
				code = binary.LittleEndian.AppendUint32(code, word)
			}
			if got := written(code); got != test.want {
				t.Errorf("register %d, want %d", got, test.want)
			}
		})
	}
}

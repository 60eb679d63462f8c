package callchain

import (
	"encoding/binary"
	"testing"
)

func TestExpressionsEvaluateAsDWARFSays(t *testing.T) {
	regs := Regs{arch: AMD64, known: 1<<7 | 1<<16} // rsp, rip
	regs.v[7], regs.v[16] = 0x1000, 0x40100b
	stack := binary.LittleEndian.AppendUint64(nil, 0x1122334455667788)
	minus := func(n int64) uint64 { return uint64(-n) }
	for _, test := range []struct {
		name string
		code []byte
		want uint64
		bad  bool
	}{
		// DW_OP_breg7 (rsp) 8; breg16 (rip) 0; lit15; and; lit11; ge; lit3; shl; plus
		{name: "a PLT entry after its push", code: []byte{0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, want: 0x1010},
		// DW_OP_breg7 (rsp) 0; deref
		{name: "deref reads the stack", code: []byte{0x77, 0, 0x06}, want: 0x1122334455667788},
		{name: "deref_size reads few bytes", code: []byte{0x77, 4, 0x94, 2}, want: 0x3344},
		{name: "deref outside the copy fails", code: []byte{0x77, 1, 0x06}, bad: true},
		{name: "deref below the copy fails", code: []byte{0x77, 0x7f, 0x06}, bad: true},
		{name: "deref of an odd size fails", code: []byte{0x77, 0, 0x94, 3}, bad: true},
		{name: "an unknown register fails", code: []byte{0x70, 0}, bad: true},
		{name: "a register that does not exist fails", code: []byte{0x92, 99, 0}, bad: true},
		{name: "the pushed value is at the bottom", code: []byte{0x23, 2}, want: 0x5002},
		{name: "const1s is signed", code: []byte{0x09, 0xff}, want: minus(1)},
		{name: "const2u is not", code: []byte{0x0a, 0xff, 0xff}, want: 0xffff},
		{name: "consts", code: []byte{0x11, 0x80, 0x7f}, want: minus(128)},
		{name: "minus takes the top from below", code: []byte{0x35, 0x33, 0x1c}, want: 2},
		{name: "div is signed", code: []byte{0x09, 0xf8, 0x32, 0x1b}, want: minus(4)},
		{name: "mod is not", code: []byte{0x37, 0x33, 0x1d}, want: 1},
		{name: "division by zero fails", code: []byte{0x35, 0x30, 0x1b}, bad: true},
		{name: "shra keeps the sign", code: []byte{0x09, 0xf0, 0x32, 0x26}, want: minus(4)},
		{name: "a shift by more than the width gives zero", code: []byte{0x31, 0x08, 99, 0x24}, want: 0},
		{name: "rot moves the top below two", code: []byte{0x31, 0x32, 0x33, 0x17, 0x1c}, want: minus(1)}, // 3 1 2: 1-2
		{name: "over copies the second", code: []byte{0x35, 0x31, 0x14}, want: 5},
		{name: "pick counts from the top", code: []byte{0x37, 0x31, 0x32, 0x15, 2}, want: 7},
		{name: "bra jumps when true", code: []byte{0x35, 0x31, 0x28, 1, 0, 0x13, 0x96}, want: 5},
		{name: "bra does not when false", code: []byte{0x35, 0x36, 0x30, 0x28, 1, 0, 0x13, 0x96}, want: 5},
		{name: "a jump out of the expression fails", code: []byte{0x31, 0x2f, 9, 0}, bad: true},
		{name: "an endless loop ends", code: []byte{0x2f, 0xfd, 0xff}, bad: true},
		{name: "a full stack fails", code: []byte{0x12, 0x2f, 0xfc, 0xff}, bad: true},
		{name: "an empty stack fails", code: []byte{0x13}, bad: true},
		{name: "a truncated operand fails", code: []byte{0x0c, 1, 2}, bad: true},
		{name: "an unknown operation fails", code: []byte{0x31, 0x32, 0xe0}, bad: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := evaluator{regs: &regs, mem: &memory{base: 0x1000, data: stack, size: 8}}
			got, ok := e.run(test.code, 0x5000)
			if ok == test.bad || ok && got != test.want {
				t.Errorf("run(%x) = %#x, %v; want %#x, %v", test.code, got, ok, test.want, !test.bad)
			}
		})
	}
}

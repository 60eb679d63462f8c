package v8

import (
	"encoding/binary"
	"testing"
)

// Instructions as V8's assembler makes them.
const (
	checkDeopt   = 0xf85f8050 // ldur x16, [x2, #-8]
	skipTwo      = 0x36000070 // tbz w16, #0, three instructions on
	branch       = 0xd61f0220 // br x17
	pushFrame    = 0xa9bf7bfd // stp x29, x30, [sp, #-16]!
	setFP        = 0x910003fd // mov x29, sp
	pushMarker   = 0xa9be43ff // stp xzr, x16, [sp, #-32]!
	storeFrame   = 0xa9017bfd // stp x29, x30, [sp, #16]
	setFPAbove   = 0x910043fd // add x29, sp, #0x10
	pushDoubles  = 0x6dbf3fee // stp d14, d15, [sp, #-16]!
	pushVectors  = 0xadbe77fc // stp q28, q29, [sp, #-64]!
	pushOne      = 0xf81f8fe0 // str x0, [sp, #-8]!
	makeRoom     = 0xd100c3ff // sub sp, sp, #0x30
	dropFrame    = 0x910003bf // mov sp, x29
	popFrame     = 0xa8c17bfd // ldp x29, x30, [sp], #16
	dropTwo      = 0x910083ff // add sp, sp, #0x20
	popPair      = 0xa8c153f3 // ldp x19, x20, [sp], #16
	callRegister = 0xd63f0200 // blr x16
	skipOne      = 0xb4000040 // cbz x0, two instructions on
	ret          = 0xd65f03c0
	nop          = 0xd503201f
)

func TestInstructionsOfARM64TellHowMuchOfAFrameThereIs(t *testing.T) {
	optimized := []uint32{checkDeopt, nop, skipTwo, nop, branch, pushFrame, setFP, nop, callRegister, dropFrame, popFrame, dropTwo, popPair, ret, nop, nop}
	stub := []uint32{nop, pushMarker, storeFrame, setFPAbove, nop}
	entry := []uint32{pushDoubles, pushVectors, pushOne, makeRoom, pushFrame, nop, setFP, nop}
	twoEnds := []uint32{skipOne, ret, nop, pushMarker, storeFrame, setFPAbove, nop}
	again := []uint32{pushFrame, setFP, dropFrame, popFrame, ret, nop, pushMarker, storeFrame, setFPAbove}
	onlyJumps := []uint32{nop, nop, branch, pushFrame, setFP}
	for _, test := range []struct {
		name  string
		code  []uint32
		at    int
		want  shape
		below uint64
	}{
		{"before a check that may jump out of the function", optimized, 0, before, 0},
		{"in the check", optimized, 3, before, 0},
		{"behind it", optimized, 5, before, 0},
		{"the frame's words are pushed", optimized, 6, before, 16},
		{"the frame pointer is set", optimized, 7, whole, 0},
		{"behind a call", optimized, 9, whole, 0},
		{"the frame's words are on top", optimized, 10, whole, 0},
		{"arguments are to be dropped", optimized, 11, after, 48},
		{"one is left", optimized, 12, after, 16},
		{"at the return", optimized, 13, after, 0},
		{"behind it", optimized, 14, whole, 0},
		{"a builtin's frame with a marker", stub, 3, before, 32},
		{"it is whole", stub, 4, whole, 0},
		{"registers are saved first", entry, 6, before, 16 + 64 + 8 + 48 + 16},
		{"a way without a frame ends before one with", twoEnds, 0, before, 0},
		{"on that way", twoEnds, 1, before, 0},
		{"on the other", twoEnds, 2, before, 0},
		{"in code that is reached from elsewhere and makes one", again, 5, perhaps, 0},
		{"where it has pushed words", again, 7, perhaps, 32},
		{"a jump to code that makes one", onlyJumps, 0, whole, 0},
	} {
		var b []byte
		for _, w := range test.code {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
		if got, below := shapeARM64(b, 4*test.at, uint64(4*test.at)); got != test.want || below != test.below {
			t.Errorf("%s: %d, %d bytes below; want %d, %d", test.name, got, below, test.want, test.below)
		}
	}
	far := []uint32{popFrame, nop, nop, ret}
	var b []byte
	for _, w := range far {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	if got, _ := shapeARM64(b, 8, 1<<20); got != after {
		t.Errorf("far behind the begin: %d, want %d", got, after)
	}
}

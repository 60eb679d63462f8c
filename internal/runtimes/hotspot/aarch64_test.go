package hotspot

import (
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// Instructions as OpenJDK 17 and 25 make them.
const (
	nop          = 0xd503201f
	bang         = 0xd14053e9 // sub x9, sp, #0x14, lsl #12
	makeRoom     = 0xd10143ff // sub sp, sp, #0x50
	store        = 0xa9047bfd // stp x29, x30, [sp, #64]
	load         = 0xa9447bfd // ldp x29, x30, [sp, #64]
	dropRoom     = 0x910143ff // add sp, sp, #0x50
	readPoll     = 0xf941a388 // ldr x8, [x28, #832]
	comparePoll  = 0xeb2863ff // cmp sp, x8
	takePoll     = 0x54000288 // b.hi
	ret          = 0xd65f03c0
	push         = 0xa9bf7bfd // stp x29, x30, [sp, #-16]!
	point        = 0x910003fd // mov x29, sp
	size         = 0xd2828008 // mov x8, #0x1400
	makeLarge    = 0xcb2863ff // sub sp, sp, x8
	dropLarge    = 0x8b2863ff // add sp, sp, x8
	unpoint      = 0x910003bf // mov sp, x29
	branch       = 0xd61f0100 // br x8
	callWord     = 0xd63f0100 // blr x8
	throw        = 0x15d87130 // b, far away
	saveAll      = 0xa9b107e0 // stp x0, x1, [sp, #-240]!
	pushTwo      = 0xa9bf33e8 // stp x8, x12, [sp, #-16]!
	popTwo       = 0xa8c133e8 // ldp x8, x12, [sp], #16
	skipOne      = 0xb4000048 // cbz x8, two instructions on
	keepSender   = 0x910003f3 // mov x19, sp
	roomForArgs  = 0xd100c3ff // sub sp, sp, #0x30
	keepsMethod  = 0xa90333e8 // stp x8, x12, [sp, #48]
	makesFrame   = 0xa9057bfd // stp x29, x30, [sp, #80]
	setsFP       = 0x910143fd // add x29, sp, #0x50
	keepsSender  = 0xa9044fff // stp xzr, x19, [sp, #64]
	senderOf20   = 0xaa0903f4 // mov x20, x9
	makesFrame8  = 0xa9047bfd // stp x29, x30, [sp, #64], as OpenJDK 8 does
	setsFP8      = 0x910103fd // add x29, sp, #0x40
	keepsSender8 = 0xa9034fff // stp xzr, x19, [sp, #48]
	alignSP      = 0x927cee9f // and sp, x20, #0xfffffffffffffff0
)

func codeOf(words ...uint32) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// remains is what is left of a frame at an instruction.
type remains struct {
	of    shape
	below uint64
}

func TestInstructionsOfARM64TellHowMuchOfAFrameThereIs(t *testing.T) {
	all := remains{whole, 80}
	for _, test := range []struct {
		name     string
		code     []uint32
		complete int // instructions
		frame    uint64
		want     []remains
	}{
		{"compiled", []uint32{nop, bang, makeRoom, store, nop, callWord, load, dropRoom, readPoll, comparePoll, takePoll, ret, nop}, 4, 80,
			[]remains{{bare, 0}, {bare, 0}, {bare, 0}, {bare, 80}, all, all, all, {bare, 80}, {bare, 0}, {bare, 0}, {bare, 0}, {bare, 0}, all}},
		{"with a frame pointer", []uint32{push, point, makeRoom, nop, unpoint, popsFrame, ret}, 3, 96,
			[]remains{{bare, 0}, {whole, 16}, {whole, 16}, {whole, 96}, {whole, 96}, {pushed, 16}, {bare, 0}}},
		{"large", []uint32{push, size, makeLarge, nop, size, dropLarge, popsFrame, ret}, 3, 0x1410,
			[]remains{{bare, 0}, {whole, 16}, {whole, 16}, {whole, 0x1410}, {whole, 0x1410}, {whole, 0x1410}, {pushed, 16}, {bare, 0}}},
		{"that throws at its end", []uint32{makeRoom, store, nop, load, dropRoom, throw, nop}, 2, 80,
			[]remains{{bare, 0}, {bare, 80}, all, all, {bare, 80}, {bare, 0}, all}},
		{"a stub that calls the machine", []uint32{nop, makeRoom, store, callWord, load, dropRoom, ret}, 0, 80,
			[]remains{{bare, 0}, {bare, 0}, {bare, 80}, all, all, {bare, 80}, {bare, 0}}},
		{"a stub that saves all registers", []uint32{push, point, saveAll, callWord, unpoint, popsFrame, ret}, 0, 512,
			[]remains{{bare, 0}, {pushed, 16}, {framed, 0}, {framed, 0}, {framed, 0}, {framed, 0}, {bare, 0}}},
	} {
		code := codeOf(test.code...)
		for i, want := range test.want {
			of, below := leafARM64(code, 4*i, 4*test.complete, test.frame)
			if (remains{of, below}) != want {
				t.Errorf("%s: %v, %d bytes below at instruction %d, want %v", test.name, of, below, i, want)
			}
		}
	}
}

func TestCodeOfARM64MayPutAMarkOnItsFrame(t *testing.T) {
	const leavesMark, dropsMark = 0xa9bf27ff, 0x910043ff // stp xzr, x9, [sp, #-16]!; add sp, sp, #16
	for _, test := range []struct {
		code []uint32
		want []uint64
	}{
		{[]uint32{store, leavesMark, callWord, dropsMark, load, ret}, []uint64{0, 0, 16, 16, 0, 0}},
		{[]uint32{store, callWord, dropsMark, load}, []uint64{0, 0, 0, 0}},
		{[]uint32{leavesMark, callWord}, []uint64{0, 0}},
	} {
		code := codeOf(test.code...)
		for i, want := range test.want {
			if got := markARM64(code, 4*i); got != want {
				t.Errorf("%#x: %d bytes at instruction %d, want %d", test.code, got, i, want)
			}
		}
	}
}

func TestStubsOfARM64TellHowMuchOfAFrameThereIs(t *testing.T) {
	for _, test := range []struct {
		name   string
		code   []uint32
		adapts bool
		want   []remains
	}{
		{"with a frame", []uint32{push, point, skipOne, nop, popsFrame, ret}, false,
			[]remains{{bare, 0}, {pushed, 16}, {framed, 0}, {framed, 0}, {framed, 0}, {bare, 0}}},
		{"without one", []uint32{pushTwo, nop, popTwo, ret}, false,
			[]remains{{bare, 0}, {bare, 16}, {bare, 16}, {bare, 0}}},
		{"that jumps on", []uint32{nop, 0x14000002, push, ret}, false, // b, two instructions on
			[]remains{{bare, 0}, {bare, 0}}},
		{"that goes round for ever", []uint32{nop, 0x17ffffff}, false, // b, one instruction back
			[]remains{{framed, 0}}},
		{"an adapter to the interpreter", []uint32{skipOne, nop, keepSender, roomForArgs, nop, branch}, true,
			[]remains{{bare, 0}, {bare, 0}, {bare, 0}, {moved, 0}, {moved, 0}, {moved, 0}}},
		{"an adapter that calls", []uint32{push, point, callWord, popsFrame, keepSender, roomForArgs, branch}, true,
			[]remains{{bare, 0}, {pushed, 16}, {framed, 0}, {framed, 0}, {bare, 0}, {moved, 0}, {moved, 0}}},
	} {
		code := codeOf(test.code...)
		for i, want := range test.want {
			of, below := stubARM64(code, 4*i, test.adapts)
			if (remains{of, below}) != want {
				t.Errorf("%s: %v, %d bytes below at instruction %d, want %v", test.name, of, below, i, want)
			}
		}
	}
}

// interpretedARM64 is the interpreter's code for a method, by the release: it is entered, runs, and returns.
var interpretedARM64 = map[uint64][]uint32{
	8:  {nop, keepsMethod, makesFrame8, setsFP8, nop, keepsSender8, nop, senderOf20, unpoint, popsFrame, alignSP, ret},
	21: {nop, keepsMethod, makesFrame, setsFP, nop, keepsSender, nop, senderOf20, unpoint, popsFrame, alignSP, ret},
}

func TestInterpretedFramesOfARM64LeadToTheCaller(t *testing.T) {
	for release, code := range interpretedARM64 {
		leadsToTheCaller(t, release, codeOf(code...))
	}
}

func leadsToTheCaller(t *testing.T, release uint64, code []byte) {
	t.Helper()
	const low, fp, sender, caller = 0x10000, 0x7fff0050, 0x7fff0080, 0x20000
	e, ok := entryARM64(code, low)
	if want := (entry{low, low + 16, low + 24, 19}); !ok || e != want {
		t.Fatalf("JDK %d: it is entered at %+v, want %+v", release, e, want)
	}
	stack := make([]byte, 0x100)
	put := func(at, v uint64) { binary.LittleEndian.PutUint64(stack[at-(fp-0x50):], v) }
	put(fp, 0x7fff0fff)
	put(fp+8, caller|5<<56) // signed
	put(fp-slotSender, sender)
	for _, test := range []struct {
		name   string
		at     int
		sp, fp uint64
		x20    uint64
	}{
		{"before there is a frame", 0, fp - 0x50, 0x7fff0fff, 0},
		{"before the frame pointer is set", 3, fp - 0x50, 0x7fff0fff, 0},
		{"before all words are there", 4, fp - 0x50, fp, 0},
		{"in the method", 6, fp - 0x50, fp, 0},
		{"when the stack pointer is above the words", 9, fp, fp, sender + 8},
		{"when the frame is gone", 10, fp + 16, 0x7fff0fff, sender + 8},
		{"at the return", 11, sender, 0x7fff0fff, sender + 8},
	} {
		m := machineOf(callchain.ARM64)
		r := newRuntime(interp.Image(nil), m, layoutOf([]byte{0}), release)
		r.heaps = []heap{{low: low, top: low + 0x1000}}
		r.interpreter = interpreter{low: low, high: low + uint64(len(code)), code: code, entries: []entry{e}, sender: e.sender}
		c := callchain.Capture{Stack: stack[test.sp-(fp-0x50):]}
		values := make([]uint64, 33)
		values[19], values[20], values[29], values[30], values[31], values[32] = sender, test.x20, test.fp, caller, test.sp, low+uint64(4*test.at)
		if err := c.Regs.Load(callchain.ARM64, callchain.ARM64.UserRegsMask(), values); err != nil {
			t.Fatal(err)
		}
		seen := &callers{Runtime: r}
		c.Runtime = seen
		callchain.New(callchain.ARM64).Unwind(nil, everywhere{}, &c)
		if want := (where{caller, sender, 0x7fff0fff}); len(seen.at) < 2 || seen.at[1] != want {
			t.Errorf("JDK %d, %s: the callers are %x, want %x", release, test.name, seen.at, want)
		}
	}
}

// where is where a frame goes on.
type where struct{ pc, sp, fp uint64 }

// callers is a Runtime that notes which frames it is asked about.
type callers struct {
	*Runtime
	at []where
}

func (s *callers) Step(a *callchain.Activation) {
	s.at = append(s.at, where{a.PC, a.SP, a.FP})
	if len(s.at) == 1 {
		s.Runtime.Step(nil, a)
	}
}

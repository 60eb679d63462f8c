package hotspot

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

func TestAMethodIsNamedAsTheMachinePrintsIt(t *testing.T) {
	for _, test := range []struct{ class, name, signature, want string }{
		{"java/lang/String", "indexOf", "(I)I", "int java.lang.String.indexOf(int)"},
		{"W", "main", "([Ljava/lang/String;)V", "void W.main(java.lang.String[])"},
		{"W", "<init>", "()V", "void W.<init>()"},
		{"W", "f", "(J[[DLjava/util/Map;Z)Ljava/lang/Object;", "java.lang.Object W.f(long, double[][], java.util.Map, boolean)"},
		{"a/B$$Lambda+0x0000a0", "run", "()V", "void a.B$$Lambda/0x0000a0.run()"},
		{"W", "f", "", "W.f"},
		{"W", "f", "(", "W.f"},
		{"W", "f", "(Q)V", "void W.f()"},
		{"W", "f", "(Ljava/lang", "W.f"},
		{"W", "f", "(L)[", "W.f()"},
	} {
		if got := external(className(test.class), test.name, test.signature); got != test.want {
			t.Errorf("%s of %s%s: %q, want %q", test.class, test.name, test.signature, got, test.want)
		}
	}
}

func TestTheVersionIsThatOfTheJDK(t *testing.T) {
	memory := interp.Image{{Addr: 4096, Bytes: []byte{25, 0, 0, 0}}}
	for _, test := range []struct {
		says []string
		want uint64
	}{
		{[]string{"Abstract_VM_Version::_vm_major_version", "CodeCache::_heap"}, 8},
		{[]string{"Abstract_VM_Version::_vm_major_version", "CodeCache::_heaps"}, 25},
		{nil, 0},
	} {
		said := &tables{offsets: make(map[string]uint64)}
		for _, name := range test.says {
			said.offsets[name] = 4096
		}
		if got := version(memory, said); got != test.want {
			t.Errorf("%v: %d, want %d", test.says, got, test.want)
		}
	}
}

func TestPackedNumbersAreOfBothKinds(t *testing.T) {
	for _, test := range []struct {
		bytes  []byte
		biased bool
		want   uint32
		bad    bool
	}{
		{bytes: []byte{0}, want: 0},
		{bytes: []byte{191}, want: 191},
		{bytes: []byte{192, 0}, want: 192},
		{bytes: []byte{255, 255, 1}, want: 255 + 255<<6 + 1<<12},
		{bytes: []byte{1}, biased: true, want: 0},
		{bytes: []byte{191}, biased: true, want: 190},
		{bytes: []byte{192, 1}, biased: true, want: 191},
		{bytes: []byte{0}, biased: true, bad: true},
		{bytes: []byte{255, 255, 255, 255, 255}, want: 51130559},
		{bytes: []byte{200}, bad: true},
	} {
		s := stream{mem: interp.Image{{Addr: 4096 - uint64(len(test.bytes)), Bytes: test.bytes}}, at: 4096 - uint64(len(test.bytes)), biased: test.biased}
		if got := s.unsigned(); got != test.want || s.bad != test.bad {
			t.Errorf("% x, biased %v: %d, bad %v; want %d, %v", test.bytes, test.biased, got, s.bad, test.want, test.bad)
		}
	}
}

func TestLinesComeFromTheCompressedTable(t *testing.T) {
	table := []byte{
		0<<3 | 7,   // bytecode 0 is of line 7
		5<<3 | 2,   // 5 of 9
		0xff, 8, 3, // 9 of 7: steps of 4 and of -2
		0,
	}
	at := uint64(4096 - len(table))
	lines := readLines(interp.Image{{Addr: at, Bytes: table}}, at, false)
	if diff := cmp.Diff([]line{{0, 7}, {5, 9}, {9, 7}}, lines, cmp.AllowUnexported(line{})); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	m := &method{name: "f", file: "F.java", lines: lines}
	for bci, want := range map[int]int{-1: 0, 0: 7, 4: 7, 5: 9, 8: 9, 9: 7, 1000: 7} {
		if got := m.frame(bci); got.Line != want {
			t.Errorf("bytecode %d is of line %d, want %d", bci, got.Line, want)
		}
	}
}

func TestInstructionsTellHowMuchOfAFrameThereIs(t *testing.T) {
	for _, test := range []struct {
		name string
		code []byte
		want shape
	}{
		{"ret", []byte{0xc3}, bare},
		{"pop %rbp", []byte{0x5d}, pushed},
		{"poll of the stack pointer", []byte{0x49, 0x3b, 0x67, 0x28, 0x0f, 0x87, 1, 0, 0, 0, 0xc3}, bare},
		{"jump of the poll", []byte{0x0f, 0x87, 1, 0, 0, 0, 0xc3}, bare},
		{"a compare within the method", []byte{0x49, 0x3b, 0x67, 0x28, 0x0f, 0x87, 1, 0, 0, 0, 0x90}, whole},
		{"sub within the method", []byte{0x48, 0x83, 0xec, 0x20}, whole},
	} {
		var code [codeAhead]byte
		copy(code[:], test.code)
		if got := shapeOf(code[:]); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

// The code is what gdb shows of methods of OpenJDK 17 and 25, up to where their frames are complete.
func TestInstructionsTellHowMuchOfAFrameIsMade(t *testing.T) {
	class := []byte{0x44, 0x8b, 0x56, 0x08, 0x44, 0x3b, 0x50, 0x08, 0x0f, 0x85, 0xc0, 0x76, 0xf1, 0xff} // mov, cmp, jne: is it the receiver's?
	bang := []byte{0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff}                                            // mov %eax,-0x14000(%rsp)
	push := []byte{0x55}
	copied := []byte{0x48, 0x8b, 0xec} // mov %rsp,%rbp
	sub := func(n byte) []byte { return []byte{0x48, 0x83, 0xec, n} }
	wide := func(n byte) []byte { return []byte{0x48, 0x81, 0xec, n, 0, 0, 0} }
	saved := []byte{0x48, 0x89, 0x6c, 0x24, 0x10}                                                                            // mov %rbp,0x10(%rsp)
	barrier := [][]byte{{0x41, 0x81, 0x7f, 0x20, 1, 0, 0, 0}, {0x0f, 0x85, 0x0c, 1, 0, 0}, {0x74, 0x05}, {0xe8, 1, 2, 3, 4}} // cmpl, jne, je, call
	for _, test := range []struct {
		name  string
		frame uint64
		code  [][]byte
		want  []shape // at each instruction
	}{
		{"pushed", 48, [][]byte{bang, push, sub(32)}, []shape{bare, bare, pushed}},
		{"with a class to check", 48, [][]byte{class, bang, push, sub(32)}, []shape{bare, bare, bare, pushed}},
		{"with a barrier", 48, slices.Concat([][]byte{bang, push, sub(32)}, barrier), []shape{bare, bare, pushed, whole, whole, whole, whole}},
		{"with a frame pointer", 48, [][]byte{bang, push, copied, sub(32)}, []shape{bare, bare, pushed, pushed}},
		{"large", 48 + 128, [][]byte{push, wide(160)}, []shape{bare, pushed}},
		{"saved by mov", 32, [][]byte{sub(24), saved}, []shape{bare, unsaved}},
		{"saved by mov, wide", 32, [][]byte{wide(24), saved}, []shape{bare, unsaved}},
		{"nothing but the frame pointer", 16, [][]byte{push, barrier[0]}, []shape{bare, whole}},
	} {
		code := slices.Concat(test.code...)
		for i, instruction := range test.code {
			if got := making(code, test.frame); got != test.want[i] {
				t.Errorf("%s: %d at % x, want %d", test.name, got, instruction, test.want[i])
			}
			code = code[len(instruction):]
		}
	}
}

func TestTheCodeOfAMethodIsRememberedUntilItIsAnother(t *testing.T) {
	first := interp.Image{{Addr: 4096, Bytes: []byte{0x55, 0x90, 0xc3}}}
	r := newRuntime(first, machineOf(callchain.AMD64), layoutOf([]byte{0}), 17)
	b := &blob{addr: 4096, code: 4096, size: 3, compileID: 1}
	for _, test := range []struct {
		name   string
		memory interp.Memory
		id     uint32
		want   []byte // nil: it is not known
	}{
		{"when it is seen", first, 1, []byte{0x90, 0xc3, 0, 0}},
		{"when the process has ended", interp.Image(nil), 1, []byte{0x90, 0xc3, 0, 0}},
		{"of another method, when the process has ended", interp.Image(nil), 2, nil},
		{"of another method", interp.Image{{Addr: 4096, Bytes: []byte{0x5d, 0xc3, 0xcc}}}, 2, []byte{0xc3, 0xcc, 0, 0}},
	} {
		r.mem, b.compileID = test.memory, test.id
		text, ok := r.textOf(b)
		if ok != (test.want != nil) || ok && !bytes.Equal(piece(text, 1, 4), test.want) {
			t.Errorf("%s: % x, %v, want % x", test.name, text, ok, test.want)
		}
	}
}

func TestAnInterruptedPlaceIsInWhatTheOnesAroundItHaveInCommon(t *testing.T) {
	for _, test := range []struct {
		name string
		a, b []scope
		want int
	}{
		{"the same call", []scope{{2, 5}, {1, 3}}, []scope{{2, 7}, {1, 3}}, 2},
		{"two calls from one method", []scope{{2, 5}, {1, 3}}, []scope{{2, 5}, {1, 9}}, 1},
		{"a call and its caller", []scope{{2, 5}, {1, 3}}, []scope{{1, 3}}, 1},
		{"nothing", nil, []scope{{1, 3}}, 0},
		{"other methods", []scope{{4, 5}}, []scope{{1, 3}}, 0},
	} {
		if got := common(test.a, test.b); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

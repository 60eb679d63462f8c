package v8

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

func TestPositionsAreDecoded(t *testing.T) {
	type entry struct {
		At        int64
		Character int64
		Inlined   int
	}
	// Steps of code and position by turns, their sign in the lowest bit; a negative step
	// of code is an expression's.
	table := []byte{
		0, 20, // before the code: character 4, which is 5<<1 raw
		7, 8, // at 2: two on
		0x94, 1, 0x80, 0x80, 0x80, 0x80, 16, // at 76: inlined function 0
	}
	var got []entry
	ofNode20().each(table, func(at int64, raw uint64) bool {
		character, inlined := decode(raw)
		got = append(got, entry{at, character, inlined})
		return true
	})
	want := []entry{{-1, 4, -1}, {2, 6, -1}, {76, 6, 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestATableThatEndsEarlyIsReadSoFar(t *testing.T) {
	for _, table := range [][]byte{nil, {0}, {0x80}, {0, 0x80, 0x80}} {
		ofNode20().each(table, func(int64, uint64) bool {
			t.Errorf("% x has an entry", table)
			return true
		})
	}
}

// words puts words into memory at an address, and returns it as a page.
func words(addr uint64, all ...uint64) interp.Page {
	var b []byte
	for _, w := range all {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	b = append(b, make([]byte, lineSize-len(b)%lineSize)...)
	return interp.Page{Addr: addr, Bytes: b}
}

func smi(n int64) uint64 { return uint64(n << 32) }

// ofNode20 is the layout of Node 20.20.2, as its symbols say.
func ofNode20() *layout {
	return &layout{
		instanceType: 12, shared: 24, data: 8, name: 16, script: 32, scriptName: 16, scriptSource: 8, lineEnds: 56, infos: 88,
		arrayLength: 8, arrayData: 16, stringLength: 12, oneByte: 16, twoByte: 16, consFirst: 16, slicedParent: 16, slicedOffset: 24, thin: 16,
		resource: 16, slots: 8, firstVariable: 3, localCount: 2, start: 16, bytecodes: 54, bytecodePositions: 32,
		deopt: 16, positions: 24, startAt: 40, sizeAt: 56, flags: 48, header: 16, deoptShared: 6, deoptLiterals: 2, deoptInlining: 7, positionFlags: 1,
		isShared: 262, isScope: 261, isScript: 167, isBytecodes: 191, isCode: 245, isWrapper: noType, uncompiled: [4]uint16{223, 220, 222, 221},
		isArray: [5]uint16{175, 240, noType, noType, noType}, isBytes: [2]uint16{190, noType},
		notString: 0xff80, representation: 7, encoding: 8, seq: 0, cons: 1, external: 2, sliced: 3, thinTag: 5, oneByteTag: 8,
		marker: -8, function: -16, bytecodeArray: -32, bytecodeOffset: -40, regexp: 54, wasm: 8,
	}
}

func TestStringsOfAllKindsAreRead(t *testing.T) {
	mapOf := func(addr uint64, kind uint64) interp.Page { return words(addr, 0, kind<<32) }
	memory := interp.Image{
		mapOf(0x10000, 0x28), mapOf(0x10100, 0x20), mapOf(0x10200, 0x29), mapOf(0x10300, 0x2b), mapOf(0x10400, 0x25), mapOf(0x10500, 0x2a), mapOf(0x10600, 261),
		words(0x20000, 0x10001, 5<<32, 0x6f6c6c6568), // "hello"
		words(0x20100, 0x10101, 2<<32, 0x4e2d_00e9),  // "é中"
		words(0x20200, 0x10201, 7<<32, 0x20001, 0x20101),
		words(0x20300, 0x10301, 3<<32, 0x20001, smi(1)),
		words(0x20400, 0x10401, 5<<32, 0x20001),
		words(0x20500, 0x10501, 4<<32, 0, 0x30000),
		words(0x20600, 0x10201, 9<<32, 0x20601, 0x20601), // made of itself
		words(0x20700, 0x10601, 5<<32),
		words(0x20800, 0x10001, 1<<40, 0x6f6c6c6568),
		words(0x30000, 0x74786574),
	}
	h := &heap{&lines{mem: memory}, ofNode20()}
	for _, test := range []struct {
		name string
		at   uint64
		want string
		ok   bool
	}{
		{"of one byte", 0x20000, "hello", true},
		{"of two bytes", 0x20100, "é中", true},
		{"of two strings", 0x20200, "helloé中", true},
		{"a part", 0x20300, "ell", true},
		{"another's", 0x20400, "hello", true},
		{"outside", 0x20500, "text", true},
		{"of itself", 0x20600, "", false},
		{"no string", 0x20700, "", false},
		{"longer than memory", 0x20800, "hello\x00\x00\x00", true},
		{"nothing", 0x90000, "", false},
	} {
		if got, ok := h.text(test.at, 8); ok != test.ok || ok && got != test.want {
			t.Errorf("%s: %q, %v; want %q, %v", test.name, got, ok, test.want, test.ok)
		}
	}
}

func TestLinesAreCountedAsJavaScriptDoes(t *testing.T) {
	s := &script{ends: endsIn("one\n中\n\U0001F600x\nend")}
	for position, want := range map[int64]int{-1: 0, 0: 1, 3: 1, 4: 2, 5: 2, 6: 3, 9: 3, 10: 4, 13: 4, 14: 0} {
		if got := s.line(position); got != want {
			t.Errorf("character %d is in line %d, want %d", position, got, want)
		}
	}
	if (*script)(nil).line(3) != 0 {
		t.Error("a script that is not known has lines")
	}
}

func TestInstructionsOfAMD64TellHowMuchOfAFrameThereIs(t *testing.T) {
	const at = 24
	code := func(past, next []byte) []byte {
		b := make([]byte, at+prologueAMD64)
		for i := range b {
			b[i] = 0x90
		}
		copy(b[at-len(past):], past)
		copy(b[at:], next)
		return b
	}
	makes, leaves := []byte{0x55, 0x48, 0x89, 0xe5}, []byte{0x48, 0x8b, 0xe5, 0x5d}
	if !baselineBegins([]byte{0xbb, 0x88, 0, 0, 0, 0x49, 0xbc, 0x31, 0x90, 0x90, 0x10, 0x4e, 0x3c, 0, 0}) {
		t.Error("baseline code does not begin as it does")
	}
	for _, test := range []struct {
		name   string
		code   []byte
		behind uint64
		want   shape
	}{
		{"at the begin", code(nil, makes), 0, before},
		{"behind a check", code(nil, append([]byte{0x48, 0x8b, 0x59, 0xe0}, makes...)), 4, before},
		{"the caller's frame pointer is pushed", code(makes[:1], makes[1:]), 1, pushed},
		{"within", code(nil, nil), 200, whole},
		{"pop %rbp", code(leaves[:3], leaves[3:]), 200, pushed},
		{"the frame is left", code(leaves, []byte{0x48, 0x83, 0xf9, 0x03}), 200, after},
		{"another function begins after a return", code(append(leaves, 0xc3), makes), 0, before},
		{"behind a return", code(append(leaves, 0xc3), nil), 200, whole},
		{"behind a jump", code(append(leaves, 0xe9, 1, 2, 0, 0), nil), 200, whole},
		{"at the jump", code(leaves, []byte{0xe9, 1, 2, 0, 0}), 200, after},
		{"ret n", code(leaves, []byte{0xc2, 0x18, 0}), 200, after},
	} {
		if got, _ := shapeAMD64(test.code, at, test.behind); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

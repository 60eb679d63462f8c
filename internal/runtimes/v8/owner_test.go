package v8

import (
	"slices"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// A closure that is made for each call has gone when its frame is read, and another function's lies
// where it was. The bytecode tells which one ran.
func TestAFrameIsOfTheFunctionWhoseBytecodeItHas(t *testing.T) {
	mapOf := func(addr uint64, kind uint64) interp.Page { return words(addr, 0, kind<<32) }
	const (
		one, other       = 0x20000, 0x20200 // SharedFunctionInfos
		bytecode, byCode = 0x20400, 0x20600 // their BytecodeArrays
		code             = 0x20800          // the other's baseline code
		script, infos    = 0x21000, 0x21200
		closure          = 0x22000
	)
	memory := interp.Image{
		mapOf(0x10000, 262), mapOf(0x10100, 191), mapOf(0x10200, 245), mapOf(0x10300, 167), mapOf(0x10400, 240), mapOf(0x10500, 0x28),
		words(one, 0x10001, bytecode+1, 0x23001, 0, script+1),
		words(other, 0x10001, code+1, 0x23101, 0, script+1),
		words(bytecode, 0x10101), words(byCode, 0x10101), words(code, 0x10201, 0, byCode+1),
		words(script, 0x10301, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, infos+1),
		words(infos, 0x10401, smi(3), 0, one+3, other+3),
		words(closure, 0, 0, 0, one+1),
		words(0x23000, 0x10501, 3<<32, 0x656e6f), words(0x23100, 0x10501, 5<<32, 0x726568746f),
	}
	r := newRuntime(memory, machineOf(callchain.AMD64), ofNode20(), func() callchain.ObjectID { return 2 }, &builtins{})
	name := func(function, array uint64) string {
		if f := r.owner(function, array); f != nil {
			return f.name
		}
		return ""
	}
	for _, test := range []struct {
		what            string
		function, array uint64
		want            string
	}{
		{"another function's bytecode, of no script that ran", closure + 1, byCode + 1, ""},
		{"its own bytecode", closure + 1, bytecode + 1, "one"},
		{"another's of the same script", closure + 1, byCode + 1, "other"},
		{"where no closure is any more", 0x99001, bytecode + 1, "one"},
		{"no bytecode", closure + 1, one + 1, ""},
		{"no object", closure + 1, 7, ""},
	} {
		if got := name(test.function, test.array); got != test.want {
			t.Errorf("%s: %q, want %q", test.what, got, test.want)
		}
	}
}

// No script has run yet, and where the closures were there are other objects: the functions
// that a running one makes tell its script.
func TestTheScriptOfAFunctionThatMakesOthersIsKnownByThem(t *testing.T) {
	mapOf := func(addr uint64, kind uint64) interp.Page { return words(addr, 0, kind<<32) }
	const (
		outer, inner       = 0x20000, 0x20200 // SharedFunctionInfos
		ofOuter, ofInner   = 0x20400, 0x20600 // their BytecodeArrays
		pool, positions    = 0x20800, 0x20a00
		script, infos      = 0x21000, 0x21200
		gone, late, ofLate = 0x99001, 0x20c00, 0x20e00
	)
	memory := interp.Image{
		mapOf(0x10000, 262), mapOf(0x10100, 191), mapOf(0x10300, 167), mapOf(0x10400, 240), mapOf(0x10500, 0x28), mapOf(0x10600, 175),
		words(outer, 0x10001, ofOuter+1, 0x23001, 0, script+1),
		words(inner, 0x10001, ofInner+1, 0x23101, 0, script+1),
		words(ofOuter, 0x10101, smi(4), pool+1, positions+1), words(ofInner, 0x10101),
		words(pool, 0x10601, smi(2), smi(7), inner+1), words(positions, 0),
		words(late, 0x10001, 0, 0x23201, 0, script+1), words(ofLate, 0x10101),
		words(script, 0x10301, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, infos+1),
		words(infos, 0x10401, smi(3), outer+3, inner+3, late+3),
		words(0x23000, 0x10501, 5<<32, 0x726574756f), words(0x23100, 0x10501, 5<<32, 0x72656e6e69), words(0x23200, 0x10501, 4<<32, 0x6574616c),
	}
	r := newRuntime(memory, machineOf(callchain.AMD64), ofNode20(), func() callchain.ObjectID { return 2 }, &builtins{})
	name := func(array uint64) string {
		r.heap.mem.forget()
		if f := r.owner(gone, array); f != nil {
			return f.name
		}
		return ""
	}
	for _, step := range []struct {
		array uint64
		want  string
	}{{ofInner, ""}, {ofOuter, "outer"}, {ofInner, "inner"}, {ofLate, ""}} {
		if got := name(step.array + 1); got != step.want {
			t.Errorf("the function of %#x is %q, want %q", step.array, got, step.want)
		}
	}
	i := slices.IndexFunc(memory, func(p interp.Page) bool { return p.Addr == late })
	memory[i] = words(late, 0x10001, ofLate+1, 0x23201, 0, script+1) // it was compiled
	for range 3 {
		name(ofLate + 1)
	}
	if got := name(ofLate + 1); got != "late" {
		t.Errorf("a function that was compiled late is %q", got)
	}
}

func TestAVersionWhoseLayoutIsNotKnownIsRefused(t *testing.T) {
	nothing := func(string) (interp.Symbol, bool) { return interp.Symbol{}, false }
	if _, ok := readVersion(interp.Image{}, nothing); ok {
		t.Error("a program that exports no version has one")
	}
	for _, v := range []version{{15, 0}, {13, 5}, {8, 4}, {0, 0}} {
		if l, err := newLayout(&reader{mem: interp.Image{}, symbol: nothing}, v); err == nil {
			t.Errorf("%d.%d: %+v", v.major, v.minor, l)
		}
	}
	// What a known version exports must be there.
	if l, err := newLayout(&reader{mem: interp.Image{}, symbol: nothing}, version{13, 6}); err == nil {
		t.Errorf("a program that exports nothing: %+v", l)
	}
}

func TestEntriesOfPositionsHaveOneFlagOrTwo(t *testing.T) {
	for flags, table := range map[uint64][]byte{1: {7, 20}, 2: {15, 20}} {
		l := ofNode20()
		l.positionFlags = flags
		l.each(table, func(at int64, raw uint64) bool {
			if character, _ := decode(raw); at != 2 || character != 4 {
				t.Errorf("%d flags: character %d at %d, want 4 at 2", flags, character, at)
			}
			return true
		})
	}
}

// Samples that come by the thousand lead to few objects.
func TestWhatASampleLedToIsReadOnce(t *testing.T) {
	memory := counted{Image: interp.Image{words(0x20000, 1, 2, 3)}, reads: new(int)}
	h := &heap{&lines{mem: memory}, ofNode20()}
	for i := range uint64(100) {
		if got := h.u64(0x20000 + 8*(i%3)); got != i%3+1 {
			t.Fatalf("word %d is %d", i%3, got)
		}
	}
	if *memory.reads != 1 {
		t.Errorf("%d reads of three words side by side, want 1", *memory.reads)
	}
	copy(memory.Image[0].Bytes, words(0, 4, 5, 6).Bytes)
	h.mem.forget()
	if got := h.u64(0x20008); got != 5 {
		t.Errorf("the next sample reads %d, want 5", got)
	}
	if h.u64(0x30000) != 0 {
		t.Error("what can't be read is not zero")
	}
}

type counted struct {
	interp.Image
	reads *int
}

func (c counted) Read(addr uint64, b []byte) bool {
	*c.reads++
	return c.Image.Read(addr, b)
}

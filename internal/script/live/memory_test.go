package live

import (
	"encoding/binary"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/types"
	"github.com/ringtap/ringtap/perfevent"
)

// pid is the process of the tests, whose memory is a file: each byte is its offset's last one.
const pid = 77

// memoryHost is a host with one process, whose memory has the pointers at their places.
func memoryHost(t *testing.T, pointers map[int]uint64) process.Host {
	t.Helper()
	memory := make([]byte, 0x3000)
	for i := range memory {
		memory[i] = byte(i)
	}
	for at, to := range pointers {
		binary.NativeEndian.PutUint64(memory[at:], to)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "77"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "77", "mem"), memory, 0o600); err != nil {
		t.Fatal(err)
	}
	return process.Host{Proc: dir}
}

// sampleAt is a sample whose record has a pointer, and whose stack has some bytes from sp on,
// which all registers have.
func sampleAt(pointer, sp uint64, stack []byte) *perfevent.Sample {
	mask := callchain.Host().UserRegsMask()
	s := &perfevent.Sample{Raw: binary.NativeEndian.AppendUint64(nil, pointer), Stack: stack}
	s.PID, s.TID = pid, pid
	s.Regs = perfevent.Registers{Mask: mask, Values: slices.Repeat([]uint64{sp}, bits.OnesCount64(mask))}
	return s
}

var pointerField = &ftrace.Field{Name: "p", Offset: 0, Size: 8}

func TestMemoryIsReadAtTheEndOfItsPath(t *testing.T) {
	host := memoryHost(t, map[int]uint64{0x1010: 0x2000, 0x1020: 0x2ffd})
	stack := []byte("on the stack, and then nothing")
	for _, test := range []struct {
		name    string
		pointer uint64
		path    []check.Step
		size    int
		want    string
		late    bool
	}{
		{"at the pointer", 0x1004, []check.Step{{}}, 2, "\x04\x05", true},
		{"behind it", 0x1004, []check.Step{{Offset: 3}}, 2, "\x07\x08", true},
		{"through a pointer", 0x1000, []check.Step{{Offset: 0x10, Deref: true}, {Offset: 5}}, 2, "\x05\x06", true},
		{"up to where the memory ends", 0x1000, []check.Step{{Offset: 0x20, Deref: true}, {}}, 8, "\xfd\xfe\xff", true},
		{"through a pointer that is nowhere", 0x4000, []check.Step{{Deref: true}, {}}, 2, "", true},
		{"in the copy of the stack", 0x8003, []check.Step{{}}, 3, "the", false},
		{"beyond the copy of the stack", 0x8000, []check.Step{{}}, len(stack) + 1, "", true},
	} {
		r := read{from: pointerField, path: test.path, size: test.size}
		b, late := r.of(sampleAt(test.pointer, 0x8000, stack), host)
		if string(b) != test.want || late != test.late {
			t.Errorf("%s: %q, late %v, want %q, %v", test.name, b, late, test.want, test.late)
		}
	}
}

func TestWhatIsLoadedHasItsForm(t *testing.T) {
	text := &types.Type{Kind: types.String, Size: 5}
	for _, test := range []struct {
		of   check.Source
		b    string
		want string
		n    uint64
	}{
		{check.Source{Type: types.Int32}, "\xff\xff\xff\xff", "", ^uint64(0)},
		{check.Source{Type: types.Uint64}, "", "", 0},
		{check.Source{Form: check.Text, Size: 5, Type: text}, "ab\x00cd", "ab", 0},
		{check.Source{Form: check.Text, Size: 5, Type: text}, "abcdefg", "abcd", 0},
		{check.Source{Form: check.Bytes, Size: 3, Type: &types.Type{Kind: types.Buffer, Size: 3}}, "a\x00b", "a\x00b", 0},
	} {
		if v := Loaded([]byte(test.b), &test.of); v.S != test.want || v.N != test.n {
			t.Errorf("%q: %+v, want %q, %d", test.b, v, test.want, test.n)
		}
	}
}

func TestMemoryOfAHitIsTakenWhenItsRecordComes(t *testing.T) {
	host := memoryHost(t, nil)
	s := &source{reads: []read{{pointerField, []check.Step{{}}, 2}, {pointerField, []check.Step{{Offset: 1}}, 1}}}
	f := &feed{Attachment: &Attachment{}}
	sample := sampleAt(0x1000, 0x8000, nil)
	sample.Time = 5
	f.memories.take(s, sample, host)
	h := &hit{feed: f, source: s, sample: sample}
	all := h.memory()
	if len(all.pieces) != 2 || string(all.pieces[0]) != "\x00\x01" || string(all.pieces[1]) != "\x01" || !all.late || f.account.Late != 1 {
		t.Errorf("%q, %d late", all.pieces, f.account.Late)
	}
	other := &hit{feed: f, source: s, sample: sample}
	if again := other.memory(); again.pieces != nil {
		t.Errorf("the memory of a hit was there twice: %q", again.pieces)
	}
}

func TestTheMemoryOfTooManyHitsIsLetGo(t *testing.T) {
	var m memories
	s := &source{}
	for i := range uint64(maxMoments + 1) {
		sample := sampleAt(0, 0, nil)
		sample.Time = i
		m.take(s, sample, process.Host{})
	}
	if len(m.read) != 1 {
		t.Errorf("%d hits are kept, want that of the last", len(m.read))
	}
}

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
	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/athit"
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

// readsAt is a feed of hits whose record has a pointer, and a hit of it. Clauses read two bytes at the end of
// some paths from there.
func readsAt(host process.Host, sample *perfevent.Sample, paths ...[]check.Step) (*feed, *hit) {
	s := &source{event: &plan.Event{}, probe: &probe.Source{Format: &ftrace.Format{Fields: []ftrace.Field{*pointerField}}}}
	for _, path := range paths {
		if _, err := s.memory("p", &check.Source{Path: path, Form: check.Bytes, Size: 2}); err != nil {
			panic(err)
		}
	}
	f := &feed{Attachment: &Attachment{sources: []*source{s}, reader: athit.New([]athit.Event{s.pointers()}, athit.Options{Host: host})}}
	return f, &hit{feed: f, source: s, sample: sample}
}

func TestMemoryOfAHitIsReadWhenItsRecordComes(t *testing.T) {
	host := memoryHost(t, map[int]uint64{0x1010: 0x2000, 0x1020: 0x2ffe})
	for _, test := range []struct {
		name    string
		pointer uint64
		path    []check.Step
		want    string
		late    bool
	}{
		{"at the pointer", 0x1004, []check.Step{{}}, "\x04\x05", true},
		{"behind it", 0x1004, []check.Step{{Offset: 3}}, "\x07\x08", true},
		{"through a pointer", 0x1000, []check.Step{{Offset: 0x10, Deref: true}, {Offset: 5}}, "\x05\x06", true},
		{"up to where the memory ends", 0x1000, []check.Step{{Offset: 0x20, Deref: true}, {Offset: 1}}, "\xff", true},
		{"through a pointer that is nowhere", 0x4000, []check.Step{{Deref: true}, {}}, "", true},
		{"in the copy of the stack", 0x8003, []check.Step{{}}, "th", false},
		{"beyond the copy of the stack", 0x800b, []check.Step{{}}, "", true},
	} {
		f, h := readsAt(host, sampleAt(test.pointer, 0x8000, []byte("on the stack")), []check.Step{{Offset: 1}}, test.path)
		src := &check.Source{Form: check.Bytes, Size: 2}
		if v := h.loaded(1, src); v.S != "" || v.IsLate() || f.account.Late != 0 {
			t.Errorf("%s: %q before its record came", test.name, v.S)
		}
		h.taken = nil
		f.reader.Seen(h.sample)
		lates := uint64(0)
		if test.late {
			lates = 1
		}
		if v := h.loaded(1, src); v.S != test.want || v.IsLate() != test.late {
			t.Errorf("%s: %q, late %v, want %q, %v", test.name, v.S, v.IsLate(), test.want, test.late)
		}
		if h.loaded(0, src); f.account.Late != lates {
			t.Errorf("%s: the hit counts as %d late reads", test.name, f.account.Late)
		}
		other := &hit{feed: f, source: h.source, sample: h.sample}
		if again := other.loaded(1, src); again.S != "" {
			t.Errorf("%s: the memory of a hit was there twice: %q", test.name, again.S)
		}
	}
}

package live

import (
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/eval"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/perfevent"
)

const kernelAddress = 0xffff888000001000

// pointerHit is a hit at time 50 in the process of memoryHost, with a stack, and what other hits
// have left.
func pointerHit(t *testing.T) (*Attachment, *eval.Hit) {
	t.Helper()
	host := memoryHost(t, nil)
	a := &Attachment{reader: athit.New([]athit.Event{{}}, athit.Options{Host: host})}
	f := &feed{Attachment: a, processes: process.NewTable(process.Options{Host: host})}
	t.Cleanup(f.processes.Close)
	for addr, m := range map[uint64]memory{
		0x1100: {data: "a name", text: true, fixed: true}, 0x1200: {data: "another", text: true},
		0x8002: {data: "below the stack's copy", text: true}, kernelAddress: {data: "\x01\x02"},
	} {
		a.argCache.keep(pid, addr, m)
	}
	sample := sampleAt(0, 0x8000, []byte("on the stack\x00and more"))
	sample.Time = 50
	record := append(binary.NativeEndian.AppendUint64(nil, 0x9000), "here"...)
	source := &source{event: &plan.Event{}, here: []piece{{plan.Piece{Offset: 16}, pointerField, &ftrace.Field{Name: "b", Offset: 8, Size: 4, Array: true}}}}
	h := &hit{feed: f, source: source, sample: sample, raw: record}
	return a, &eval.Hit{PID: pid, TID: pid, Values: h}
}

func TestPointersAreReadWhereTheirMemoryIsKnownBest(t *testing.T) {
	for _, test := range []struct {
		name string
		addr uint64
		want string
		late bool
	}{
		{"the stack", 0x8003, "the", false},
		{"the stack, and not what was kept", 0x8002, " t", false},
		{"the hit's record", 0x9011, "er", false},
		{"before what the hit's record has", 0x900f, "", true},
		{"beyond what the hit's record has", 0x9013, "", true},
		{"beyond the copy of the stack", 0x8014, "", true},
		{"what a hit kept", 0x1100, "a nam", false},
		{"what a hit kept, and may have changed", 0x1200, "an", true},
		{"of the kernel", kernelAddress, "\x01\x02", true},
		{"of the kernel, unknown", kernelAddress + 1, "", false},
		{"the process", 0x1003, "\x03\x04", true},
	} {
		a, h := pointerHit(t)
		b := make([]byte, max(len(test.want), 2))
		ok, late := a.Read(h, test.addr, b)
		if ok != (test.want != "") || late != test.late || ok && string(b) != test.want {
			t.Errorf("%s: %q, %v, late %v", test.name, b, ok, late)
		}
	}
}

func TestTextsAreReadWhereTheyAreKnown(t *testing.T) {
	for _, test := range []struct {
		name string
		addr uint64
		want string
		late bool
	}{
		{"the stack", 0x8003, "the stack", false},
		{"the stack without an end", 0x800e, "", false},
		{"what a hit kept", 0x1100, "a name", false},
		{"what a hit kept, and may have changed", 0x1200, "another", true},
		{"bytes that a hit kept", kernelAddress, "", false},
		{"the process", 0x1003, "", false},
	} {
		a, h := pointerHit(t)
		text, late, ok := a.Text(h, test.addr)
		if ok != (test.want != "") || ok && (text != test.want || late != test.late) {
			t.Errorf("%s: %q, late %v, %v", test.name, text, late, ok)
		}
	}
}

func TestTheMemoryOfAnotherProgramIsNotRead(t *testing.T) {
	for _, test := range []struct {
		comm perfevent.Comm
		gone uint64
	}{
		{perfevent.Comm{Header: perfevent.Header{Time: 60}, PID: pid, Exec: true}, 1},
		{perfevent.Comm{Header: perfevent.Header{Time: 40}, PID: pid, Exec: true}, 0},
		{perfevent.Comm{Header: perfevent.Header{Time: 60}, PID: pid}, 0},
		{perfevent.Comm{Header: perfevent.Header{Time: 60}, PID: pid + 1, Exec: true}, 0},
	} {
		a, h := pointerHit(t)
		f := h.Values.(*hit).feed
		f.reader.Seen(&test.comm)
		ok, _ := a.Read(h, 0x1003, make([]byte, 1))
		if ok != (test.gone == 0) || f.account.Gone != test.gone || f.account.Late != 1 {
			t.Errorf("%+v: read %v, %d gone, %d late", test.comm, ok, f.account.Gone, f.account.Late)
		}
	}
}

func TestProbesOfRingtapItselfReadNothing(t *testing.T) {
	a := &Attachment{}
	if ok, _ := a.Read(&eval.Hit{PID: pid}, 0x1000, make([]byte, 1)); ok {
		t.Error("memory was read")
	}
	if _, _, ok := a.Text(&eval.Hit{PID: pid}, 0x1000); ok {
		t.Error("a text was found")
	}
}

// What a clause reads at the end of a path is not what is at the pointer.
func TestPointersAreReadAtTheirOwnAddress(t *testing.T) {
	for _, test := range []struct {
		offset int
		want   string
		ok     bool
	}{{0, "on", true}, {3, "", false}} {
		_, h := readsAt(process.Host{Proc: t.TempDir()}, sampleAt(0x8000, 0x8000, []byte("on the stack")), []check.Step{{Offset: test.offset}})
		h.feed.reader.Seen(h.sample)
		b, exact := h.foundAt(0x8000)
		if string(b) != test.want || exact != test.ok {
			t.Errorf("offset %d: %q, exact %v", test.offset, b, exact)
		}
	}
}

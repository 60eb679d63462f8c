package process

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/object/jitmap"
	"github.com/ringtap/ringtap/symbols"
)

// jitHost is a host with the process of jitTree, whose clock the test sets.
type jitHost struct {
	*testing.T
	table *Table
	clock uint64
	file  string
}

func newJITHost(t *testing.T, text string) *jitHost {
	proc, root := jitTree(t)
	h := &jitHost{T: t, clock: 1000, file: filepath.Join(root, "tmp/perf-5.map")}
	must(t, os.WriteFile(h.file, []byte(text), 0o644))
	h.table = NewTable(Options{Host: Host{Proc: proc, Clock: func() uint64 { return h.clock }}, FollowCode: true})
	t.Cleanup(h.table.Close)
	h.table.code.tick = time.Hour // the file's times are not those of the clock
	return h
}

// name returns the name of the code that is at an address at a time.
func (h *jitHost) name(at, addr uint64) string {
	h.Helper()
	h.table.CodeAt(at)
	m, ok := h.table.Process(77).Find(addr)
	if !ok || m.Start > addr || m.End <= addr || m.Offset != m.Start {
		h.Fatalf("%#x is in %+v, %v", addr, m, ok)
	}
	return h.named(h.table.Objects()[m.Object], addr)
}

// named returns the name that an object's perf map has for an address.
func (h *jitHost) named(o *Object, addr uint64) string {
	h.Helper()
	r, err := o.PerfMap()
	must(h.T, err)
	names, err := symbols.ReadPerfMap(r, 0)
	must(h.T, err)
	s, _ := names.Lookup(addr)
	return s.Name
}

// write appends to the perf map at a time.
func (h *jitHost) write(at uint64, text string) {
	h.Helper()
	h.table.code.close() // its goroutine would read at a time of its own
	h.read()             // what was there before
	h.clock = at
	f, err := os.OpenFile(h.file, os.O_APPEND|os.O_WRONLY, 0)
	must(h.T, err)
	_, err = io.WriteString(f, text)
	must(h.T, err)
	must(h.T, f.Close())
	h.read()
}

// read reads what was written.
func (h *jitHost) read() {
	for _, f := range h.table.code.files {
		h.table.code.read(f, h.clock)
	}
}

func TestCodeHasTheNameThatItsAddressHadAtTheTime(t *testing.T) {
	h := newJITHost(t, "10000 20 old\n10000 20 first\n10100 20 kept\n")
	if got := h.name(1000, 0x10010); got != "first" {
		t.Errorf("what was there before is %q", got)
	}
	base := objectAt(t, h.table, 77, 0x10010)
	h.write(2000, "10000 20 second\n10200 20 new\n")
	h.write(3000, "10010 20 third\n")
	h.write(4000, "20000 20 bytecode\n")
	h.write(5000, "20000 20 bytecode again\n") // in memory that is not executable
	for _, test := range []struct {
		at, addr uint64
		want     string
	}{
		{1500, 0x10000, "first"}, {1999, 0x10010, "first"}, {2000, 0x10000, "second"}, {2500, 0x10010, "second"},
		{3000, 0x10000, "second"}, {3000, 0x10010, "third"}, {6000, 0x10028, "third"}, {6000, 0x1000f, "second"},
		{6000, 0x10100, "kept"}, {1500, 0x10100, "kept"}, {6000, 0x10200, "new"},
		{1000, 0x10010, "first"}, // a record that comes late
	} {
		if got := h.name(test.at, test.addr); got != test.want {
			t.Errorf("at %d %#x is %q, want %q", test.at, test.addr, got, test.want)
		}
	}
	// The frames of samples are named in the end.
	for addr, want := range map[uint64]string{0x10000: "first", 0x10010: "first", 0x10020: "third", 0x10100: "kept"} {
		if got := h.named(base, addr); got != want {
			t.Errorf("before, %#x is %q, want %q", addr, got, want)
		}
	}
}

func TestTheVersionChangesWithTheCodeOnly(t *testing.T) {
	h := newJITHost(t, "10000 20 first\n20000 20 bytecode\n")
	h.name(1000, 0x10000)
	p := h.table.Process(77)
	version := p.Version()
	h.write(2000, "10100 20 new\n20000 20 bytecode again\n")
	if h.name(2500, 0x10000); p.Version() != version {
		t.Error("new code at other addresses, and memory that is not executable, change it")
	}
	h.write(3000, "10000 20 second\n")
	if h.name(2500, 0x10000); p.Version() != version {
		t.Error("code of a later time changes it")
	}
	if h.name(3000, 0x10000); p.Version() == version {
		t.Error("new code at the same address does not change it")
	}
}

func TestAPerfMapThatIsWrittenAnewNamesAll(t *testing.T) {
	h := newJITHost(t, "10000 20 first\n")
	h.name(1000, 0x10000)
	h.write(2000, "10000 20 second\n")
	if got := h.name(2000, 0x10000); got != "second" {
		t.Errorf("got %q", got)
	}
	must(t, os.Truncate(h.file, 0))
	h.write(3000, "10000 20 x\n")
	if got := h.name(3000, 0x10000); got != "x" {
		t.Errorf("got %q", got)
	}
}

func TestAnObjectThatEndsIsWatchedNoMore(t *testing.T) {
	h := newJITHost(t, "10000 20 first\n")
	h.name(1000, 0x10000)
	h.table.endObject(objectAt(t, h.table, 77, 0x10000))
	if n := len(h.table.code.files) + len(h.table.code.objects); n != 0 {
		t.Errorf("%d files and objects are watched", n)
	}
	h.read()
	if n := h.table.files.count(); n != 0 {
		t.Errorf("%d files are open", n)
	}
	if got := h.name(1000, 0x10000); got != "first" {
		t.Errorf("the next object's code is %q", got)
	}
}

// A look that comes late is corrected by the file's time, but not to before the last look.
func TestCodeCountsFromWhenItWasWritten(t *testing.T) {
	const ms = uint64(time.Millisecond)
	for _, test := range []struct {
		name                    string
		age, seen, looked, want uint64 // ms ago
	}{
		{"seen in time", 3, 0, 1000, 0},
		{"seen in time, and read later", 53, 50, 1000, 50},
		{"seen late", 50, 0, 1000, 50},
		{"seen late, and read later still", 70, 20, 1000, 70},
		{"a file that says that it is old", 5000, 0, 1000, 1000},
	} {
		now := uint64(time.Hour)
		f := &codeFile{looked: now - test.looked*ms}
		got := f.since(4*time.Millisecond, time.Duration(test.age*ms), now-test.seen*ms, now)
		if got != now-test.want*ms {
			t.Errorf("%s: counts from %d ms ago, want %d", test.name, (now-got)/ms, test.want)
		}
	}
}

func TestSpansOverlapWhereAddressesDo(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		spans, taken := make(codeSpans), make(map[uint64]bool)
		log := ""
		for range 50 {
			start := stretch - 100 + random.Uint64N(200)
			end := start + 1 + random.Uint64N(20)
			log += fmt.Sprintf("%d-%d ", start, end)
			want := false
			for at := start; at < end; at++ {
				want, taken[at] = want || taken[at], true
			}
			if got := spans.add(start, end); got != want {
				t.Fatalf("%s: overlaps %v, want %v", log, got, want)
			}
		}
	}
}

func TestSpansReachTheLastAddress(t *testing.T) {
	spans := make(codeSpans)
	for _, want := range []bool{false, true} {
		if got := spans.add(math.MaxUint64-2*stretch, math.MaxUint64); got != want {
			t.Errorf("overlaps %v, want %v", got, want)
		}
	}
}

// What was there before, and what is written then, take several pieces.
func TestAFileIsReadInPieces(t *testing.T) {
	text := "10000 20 old\n10000 20 first\n" + strings.Repeat("10100 20 kept\n", 2*readAtOnce)
	h := newJITHost(t, text)
	h.name(1000, 0x10000)
	h.write(2000, "10000 20 second\n"+strings.Repeat("10100 20 again\n", 2*readAtOnce)+"10000 20 third\n")
	for at, want := range map[uint64]string{1500: "first", 2000: "third"} {
		if got := h.name(at, 0x10000); got != want {
			t.Errorf("at %d %q, want %q", at, got, want)
		}
	}
	for f := range watched(h.table) {
		f.reader = nil
		if more, _ := f.readSome(h.table.code, 3000, 1); !more || !f.first || f.reader.Offset() != 13 {
			t.Errorf("more %v, first %v, offset %d", more, f.first, f.reader.Offset())
		}
	}
}

// watched yields the files that a table watches.
func watched(table *Table) func(yield func(*codeFile) bool) { return maps.Values(table.code.files) }

// The rest of the file are zeros. Reading a terabyte of them takes minutes.
func TestAHugeFileHoldsNothingUp(t *testing.T) {
	h := newJITHost(t, "10000 20 first\n")
	h.name(1000, 0x10000)
	h.write(2000, "10000 20 second\n")
	must(t, os.Truncate(h.file, 1<<40))
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.read()
		if got := h.name(2000, 0x10000); got != "second" {
			t.Errorf("it is %q", got)
		}
		if got := h.named(h.table.Process(77).anon, 0x10000); got != "first" {
			t.Errorf("before, it is %q", got)
		}
		h.table.Close()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it is still being read")
	}
}

func TestCloseEndsReads(t *testing.T) {
	h := newJITHost(t, "10000 20 first\n")
	h.name(1000, 0x10000)
	h.table.Close()
	if _, err := h.table.Process(77).anon.perfMap.ReadAt(make([]byte, 1), 0); !errors.Is(err, errEnded) {
		t.Errorf("a read fails with %v", err)
	}
}

func TestReusedCodeIsBounded(t *testing.T) {
	h := newJITHost(t, "10000 20 first\n")
	h.name(1000, 0x10000)
	h.write(2000, strings.Repeat("10000 20 "+strings.Repeat("x", jitmap.MaxName)+"\n", 3*maxReusedBytes/jitmap.MaxName/2))
	for f := range watched(h.table) {
		size := 0
		for _, c := range f.noted {
			size += len(c.line)
		}
		if size == 0 || size > maxReusedBytes+jitmap.MaxName+20 || f.epoch != 1 {
			t.Errorf("%d bytes are kept, epoch %d", size, f.epoch)
		}
	}
	h.write(3000, "10000 20 last\n")
	if got := h.name(3000, 0x10000); got != "last" {
		t.Errorf("it is %.10q", got)
	}
}

func TestSpansAreBounded(t *testing.T) {
	spans := make(codeSpans)
	for i := range uint64(2 * maxStretches) {
		spans.add(i*stretch, i*stretch+1)
	}
	spans.add(1<<40, 1<<40+maxCode+1)
	if len(spans) != maxStretches {
		t.Errorf("%d stretches, want %d", len(spans), maxStretches)
	}
	if !spans.add(0, 1) {
		t.Error("what is known is not found")
	}
}

func TestTheVersionOfForksChangesWithTheCode(t *testing.T) {
	h := newJITHost(t, "10000 20 first\n")
	parent := h.table.Process(77)
	h.name(parent.since, 0x10000)
	h.table.Handle(forkAt(parent.since+1, 77, 78))
	h.table.Handle(forkAt(parent.since+2, 78, 79))
	h.table.Handle(forkAt(parent.since+3, 78, 80))
	h.table.Handle(execAt(parent.since+4, 80, "other"))
	var before []uint64
	for pid := 77; pid <= 80; pid++ {
		before = append(before, h.table.Process(pid).Version())
	}
	h.write(parent.since+10, "10000 20 second\n")
	h.table.CodeAt(parent.since + 20)
	for i, version := range before {
		pid := 77 + i
		if changes := h.table.Process(pid).Version() != version; changes != (pid != 80) {
			t.Errorf("process %d: the version changes: %v", pid, changes)
		}
	}
	if got := h.named(objectAt(t, h.table, 79, 0x10000), 0x10000); got != "second" {
		t.Error("a fork of a fork has other code")
	}
}

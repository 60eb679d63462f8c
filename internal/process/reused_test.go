package process

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

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

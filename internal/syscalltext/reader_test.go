package syscalltext

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/perfevent"
)

// reading is a reader of made-up memory at a made-up time.
type reading struct {
	*reader
	attachment *Attachment
	clock      uint64
	printer    *printfmt.Printer
}

func oneSource() []probe.Source { return make([]probe.Source, 1) }

func newReading(t *testing.T, m fakeMemory, fixed ranges) *reading {
	t.Helper()
	f := formatOf("openat", "int", "dfd", "const char *", "filename")
	e := &event{layout: newLayout(f, Params(f))}
	r := &reading{reader: newReader()}
	r.memory, r.now = m.read, func() uint64 { return r.clock }
	r.maps = func(int) ranges { return fixed }
	r.events = []*event{e}
	r.attachment = &Attachment{Sources: oneSource(), events: r.events, reader: r.reader}
	var err error
	if r.printer, err = printfmt.New(e.layout.format, printfmt.Options{}); err != nil {
		t.Fatal(err)
	}
	return r
}

// open is a sample of openat(3, addr) by thread 8 of process 7.
func open(time, addr uint64) *perfevent.Sample {
	raw := make([]byte, 32)
	raw[16] = 3
	binary.LittleEndian.PutUint64(raw[24:], addr)
	return &perfevent.Sample{Header: perfevent.Header{PID: 7, TID: 8, Time: time}, Raw: raw}
}

func (r *reading) line(s *perfevent.Sample) string {
	return string(r.printer.Append(nil, r.attachment.record(nil, 0, s)))
}

func wantLine(t *testing.T, got, want string) {
	t.Helper()
	if got != "sys_openat(dfd: 3, filename: "+want+")" {
		t.Errorf("got %s, want filename: %s", got, want)
	}
}

func TestTextThatIsReadLaterIsMarked(t *testing.T) {
	r := newReading(t, fakeMemory{0x1000: pageOf(0, "/etc/\x1bpasswd")}, nil)
	s := open(100, 0x1000)
	r.clock = 150
	r.seen(s)
	wantLine(t, r.line(s), `0x1000 ~"/etc/\x1bpasswd"`)
	wantLine(t, r.line(s), `0x1000`) // it is handed on once
	gone := open(200, 0x5000)
	r.seen(gone)
	wantLine(t, r.line(gone), `0x5000`)
	null := open(300, 0)
	r.seen(null)
	wantLine(t, r.line(null), `0`)
	wantLine(t, r.line(open(400, 0x1000)), `0x1000`) // never seen
}

func TestTextInTheCopyOfTheStackIsTheEvents(t *testing.T) {
	r := newReading(t, fakeMemory{0x1000: pageOf(0, "later")}, nil)
	stack := func(addr uint64, copied string) *perfevent.Sample {
		s := open(100, addr)
		s.Regs = perfevent.Registers{ABI: 2, Mask: 1<<stackPointer | 1, Values: []uint64{5, 0x0ff8}}
		s.Stack = []byte(copied)
		return s
	}
	for _, test := range []struct {
		name string
		s    *perfevent.Sample
		want string
	}{
		{"on it", stack(0x1000, "........name\x00rest"), `0x1000 "name"`},
		{"beyond its end", stack(0x1000, "........na"), `0x1000 ~"later"`},
		{"not on it", stack(0x1000, "...."), `0x1000 ~"later"`},
		{"below it", stack(0x0ff0, "........name\x00rest"), `0xff0`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r.seen(test.s)
			wantLine(t, r.line(test.s), test.want)
		})
	}
}

// A process that runs another program before its memory is read has the other
// program's memory there.
func TestTextOfTheNextProgramIsDropped(t *testing.T) {
	for _, test := range []struct {
		name      string
		exec, pid uint64
		want      string
	}{
		{"read before the exec", 160, 7, `0x1000 ~"x"`},
		{"read after it", 120, 7, `0x1000`},
		{"another process's exec", 120, 9, `0x1000 ~"x"`},
		{"an exec before the event", 90, 7, `0x1000 ~"x"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newReading(t, fakeMemory{0x1000: pageOf(0, "x")}, nil)
			s := open(100, 0x1000)
			r.clock = 150
			r.seen(s)
			r.seen(&perfevent.Comm{Header: perfevent.Header{Time: test.exec}, PID: uint32(test.pid), TID: uint32(test.pid), Exec: true})
			wantLine(t, r.line(s), test.want)
		})
	}
}

// Two events of a thread with the same pointer were seen when both had happened:
// the memory has the name of the second.
func TestTextThatTheThreadHasReplacedIsDropped(t *testing.T) {
	for _, test := range []struct {
		name   string
		second uint64 // time
		addr   uint64
		fixed  ranges
		want   string // of the first
	}{
		{"replaced", 120, 0x1000, nil, `0x1000`},
		{"read in time", 160, 0x1000, nil, `0x1000 ~"x"`},
		{"something else put near it", 120, 0x1008, nil, `0x1000`},
		{"another place", 120, 0x1800, nil, `0x1000 ~"x"`},
		{"memory that can't be written", 120, 0x1000, ranges{{0x1000, 0x2000}}, `0x1000 ~"x"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newReading(t, fakeMemory{0x1000: pageOf(0, "x")}, test.fixed)
			first, second := open(100, 0x1000), open(test.second, test.addr)
			r.clock = 150
			r.seen(first)
			r.clock = 170
			r.seen(second)
			wantLine(t, r.line(first), test.want)
		})
	}
}

func TestWhatIsNeverHandedOnIsForgotten(t *testing.T) {
	r := newReading(t, fakeMemory{0x1000: pageOf(0, "x")}, nil)
	for i := range uint64(maxPending + 1000) {
		r.clock = i
		r.seen(open(i, 0x1000))
	}
	if len(r.pending) > maxPending || len(r.order) > maxPending {
		t.Errorf("%d samples are kept", len(r.pending))
	}
	r.seen(&perfevent.Exit{PID: 7, TID: 8})
	r.seen(&perfevent.Exit{PID: 7, TID: 7})
	if len(r.last)+len(r.late)+len(r.fixed) != 0 {
		t.Error("a process that has ended is kept")
	}
}

func TestAProbesRecordBecomesTheTracepoints(t *testing.T) {
	f := formatOf("rename", "const char *", "oldname", "const char *", "newname")
	probe, err := ftrace.ParseFormat([]byte("name: sys_enter_rename\nID: 9\nformat:\n" + strings.Join([]string{
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;",
		"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;",
		"\tfield:u64 oldname;\toffset:16;\tsize:8;\tsigned:0;",
		"\tfield:u64 newname;\toffset:24;\tsize:8;\tsigned:0;",
		"\tfield:__data_loc char[] __oldname_val;\toffset:32;\tsize:4;\tsigned:1;",
	}, "\n") + "\n\nprint fmt: \"\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	e := &event{layout: newLayout(f, Params(f)), probe: probe}
	raw := make([]byte, 36)
	raw[2] = 1 // interrupts off
	binary.LittleEndian.PutUint64(raw[16:], 0x1000)
	binary.LittleEndian.PutUint64(raw[24:], 0x2000)
	binary.LittleEndian.PutUint32(raw[32:], 36|3<<16)
	raw = append(raw, "/a\x00"...)
	r := newReader()
	r.memory, r.events = fakeMemory{0x2000: pageOf(0, "/b")}.read, []*event{e}
	a := &Attachment{Sources: oneSource(), events: r.events, reader: r}
	s := &perfevent.Sample{Raw: raw}
	r.seen(s)
	p, err := printfmt.New(e.layout.format, printfmt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	record := a.record(nil, 0, s)
	if got, want := string(p.Append(nil, record)), `sys_rename(oldname: 0x1000 "/a", newname: 0x2000 ~"/b")`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if record[2] != 0 {
		t.Errorf("flags %#x, want none", record[2])
	}
}

func TestATextThatTheKernelHasCutIsReadWhole(t *testing.T) {
	whole := "/" + strings.Repeat("a", 70)
	begin := whole[:59] + "...\x00"
	for _, test := range []struct {
		name, recorded string
		memory         fakeMemory
		want           string
	}{
		{"not cut", "/short\x00", fakeMemory{0x1000: pageOf(0, "/other")}, `"/short"`},
		{"cut", begin, fakeMemory{0x1000: pageOf(0, whole)}, `~"` + whole + `"`},
		{"replaced meanwhile", begin, fakeMemory{0x1000: pageOf(0, "/other")}, `"` + begin[:62] + `"`},
		{"gone", begin, fakeMemory{}, `"` + begin[:62] + `"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := formatOf("unlink", "const char *", "pathname")
			own := *f
			own.Fields = append(slices.Clone(f.Fields), ftrace.Field{Type: "__data_loc char[]", Name: printfmt.SyscallText("pathname"), Offset: 24, Size: 4, Location: ftrace.DataLoc})
			e := &event{layout: newLayout(&own, Params(&own)), own: &own}
			raw := make([]byte, 28)
			binary.LittleEndian.PutUint64(raw[16:], 0x1000)
			binary.LittleEndian.PutUint32(raw[24:], 28|uint32(len(test.recorded))<<16)
			r := newReader()
			r.memory, r.events = test.memory.read, []*event{e}
			a := &Attachment{Sources: oneSource(), events: r.events, reader: r}
			s := &perfevent.Sample{Raw: append(raw, test.recorded...)}
			r.seen(s)
			p, err := printfmt.New(e.layout.format, printfmt.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(p.Append(nil, a.record(nil, 0, s))), "sys_unlink(pathname: 0x1000 "+test.want+")"; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(make([]byte, 60), []byte("stack"))
	format := formatOf("rename", "const char *", "oldname", "const char *", "newname")
	probe := formatOf("rename", "u64", "oldname", "u64", "newname")
	probe.Fields = append(probe.Fields, ftrace.Field{Name: "__oldname_val", Offset: 32, Size: 4, Location: ftrace.DataLoc, Type: "char", Array: true, ElemSize: 1, String: true})
	f.Fuzz(func(t *testing.T, raw, stack []byte) {
		for _, probe := range []*ftrace.Format{nil, probe} {
			e := &event{layout: newLayout(format, Params(format)), probe: probe}
			r := newReader()
			r.memory, r.events = fakeMemory{0: make([]byte, page)}.read, []*event{e}
			a := &Attachment{Sources: oneSource(), events: r.events, reader: r}
			s := &perfevent.Sample{Raw: raw, Stack: stack, Regs: perfevent.Registers{Mask: 1 << stackPointer, Values: []uint64{0x1000}}}
			r.seen(s)
			p, err := printfmt.New(e.layout.format, printfmt.Options{})
			if err != nil {
				t.Fatal(err)
			}
			p.Append(nil, a.record(nil, 0, s))
		}
	})
}

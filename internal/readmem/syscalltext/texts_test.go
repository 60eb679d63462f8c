package syscalltext

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/perfevent"
)

// reading is the texts of one event in made-up memory.
type reading struct {
	*Attachment
	printer *printfmt.Printer
}

// page is the size of a page of made-up memory.
const page = 4096

// hostWith is a host whose process 7 has memory with texts at some addresses, and no memory after the last
// one's page.
func hostWith(t testing.TB, texts map[int]string) process.Host {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "7"), 0o700); err != nil {
		t.Fatal(err)
	}
	var memory []byte
	for addr, text := range texts {
		if end := addr/page*page + page; end > len(memory) {
			memory = append(memory, make([]byte, end-len(memory))...)
		}
		copy(memory[addr:], text)
	}
	if err := os.WriteFile(filepath.Join(dir, "7", "mem"), memory, 0o600); err != nil {
		t.Fatal(err)
	}
	return process.Host{Proc: dir}
}

func newReading(t testing.TB, host process.Host, e *event) *reading {
	t.Helper()
	r := &reading{Attachment: &Attachment{Sources: make([]probe.Source, 1), events: []*event{e}}}
	r.prepare(athit.Options{Host: host})
	var err error
	if r.printer, err = printfmt.New(e.layout.format, printfmt.Options{}); err != nil {
		t.Fatal(err)
	}
	return r
}

// opening is the reading of openat(2).
func opening(t testing.TB, texts map[int]string) *reading {
	f := formatOf("openat", "int", "dfd", "const char *", "filename")
	return newReading(t, hostWith(t, texts), &event{layout: newLayout(f, Params(f))})
}

// open is a sample of openat(3, addr) by thread 8 of process 7.
func open(time, addr uint64) *perfevent.Sample {
	raw := make([]byte, 32)
	raw[16] = 3
	binary.LittleEndian.PutUint64(raw[24:], addr)
	return &perfevent.Sample{Header: perfevent.Header{PID: 7, TID: 8, Time: time}, Raw: raw}
}

func (r *reading) line(s *perfevent.Sample) string {
	return string(r.printer.Append(nil, r.record(nil, 0, s)))
}

func wantLine(t *testing.T, got, want string) {
	t.Helper()
	if got != "sys_openat(dfd: 3, filename: "+want+")" {
		t.Errorf("got %s, want filename: %s", got, want)
	}
}

func TestTextThatIsReadLaterIsMarked(t *testing.T) {
	r := opening(t, map[int]string{0x1000: "/etc/\x1bpasswd"})
	s := open(100, 0x1000)
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
	r := opening(t, map[int]string{0x0ff0: "below", 0x1000: "later"})
	stack := func(addr uint64, copied string) *perfevent.Sample {
		s := open(100, addr)
		s.Regs = perfevent.Registers{ABI: 2, Mask: arch.Mask(arch.Here.SP) | 1, Values: []uint64{5, 0x0ff8}}
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
		{"below it", stack(0x0ff0, "........name\x00rest"), `0xff0 ~"below"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r.seen(test.s)
			wantLine(t, r.line(test.s), test.want)
		})
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
	r := newReading(t, hostWith(t, map[int]string{0x2000: "/b"}), &event{layout: newLayout(f, Params(f)), probe: probe})
	raw := make([]byte, 36)
	raw[2] = 1 // interrupts off
	binary.LittleEndian.PutUint64(raw[16:], 0x1000)
	binary.LittleEndian.PutUint64(raw[24:], 0x2000)
	binary.LittleEndian.PutUint32(raw[32:], 36|3<<16)
	raw = append(raw, "/a\x00"...)
	s := open(100, 0)
	s.Raw = raw
	r.seen(s)
	record := r.record(nil, 0, s)
	if got, want := string(r.printer.Append(nil, record)), `sys_rename(oldname: 0x1000 "/a", newname: 0x2000 ~"/b")`; got != want {
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
		memory         map[int]string
		want           string
	}{
		{"not cut", "/short\x00", map[int]string{0x1000: "/other"}, `"/short"`},
		{"cut", begin, map[int]string{0x1000: whole}, `~"` + whole + `"`},
		{"replaced meanwhile", begin, map[int]string{0x1000: "/other"}, `"` + begin[:62] + `"`},
		{"gone", begin, nil, `"` + begin[:62] + `"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := formatOf("unlink", "const char *", "pathname")
			own := *f
			own.Fields = append(slices.Clone(f.Fields), ftrace.Field{Type: "__data_loc char[]", Name: printfmt.SyscallText("pathname"), Offset: 24, Size: 4, Location: ftrace.DataLoc})
			r := newReading(t, hostWith(t, test.memory), &event{layout: newLayout(&own, Params(&own)), own: &own})
			raw := make([]byte, 28)
			binary.LittleEndian.PutUint64(raw[16:], 0x1000)
			binary.LittleEndian.PutUint32(raw[24:], 28|uint32(len(test.recorded))<<16)
			s := open(100, 0)
			s.Raw = append(raw, test.recorded...)
			r.seen(s)
			if got, want := r.line(s), "sys_unlink(pathname: 0x1000 "+test.want+")"; got != want {
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
	host := hostWith(f, map[int]string{0: ""})
	f.Fuzz(func(t *testing.T, raw, stack []byte) {
		for _, probe := range []*ftrace.Format{nil, probe} {
			r := newReading(t, host, &event{layout: newLayout(format, Params(format)), probe: probe})
			s := open(100, 0)
			s.Raw, s.Stack, s.Regs = raw, stack, perfevent.Registers{Mask: arch.Mask(arch.Here.SP), Values: []uint64{0x1000}}
			r.seen(s)
			r.line(s)
		}
	})
}

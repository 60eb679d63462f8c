package athit

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

const pageSize = 4096

// hostWith is a host whose process 7 has memory with texts at some addresses, up to the end of the last one's
// page. maps is its /proc/PID/maps.
func hostWith(t *testing.T, texts map[int]string, maps string) process.Host {
	t.Helper()
	var memory []byte
	for addr, text := range texts {
		end := (addr + len(text) + pageSize - 1) / pageSize * pageSize
		memory = append(memory, make([]byte, max(0, end-len(memory)))...)
		copy(memory[addr:], text)
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{"mem": memory, "maps": []byte(maps)} {
		path := filepath.Join(dir, "7", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return process.Host{Proc: dir}
}

// words are pointers in memory.
func words(pointers ...uint64) string {
	var b []byte
	for _, p := range pointers {
		b = binary.LittleEndian.AppendUint64(b, p)
	}
	return string(b)
}

// sampleOf is a sample of thread 8 of process 7 whose record is a pointer. Its stack has some bytes from 0x20000 on.
func sampleOf(time, pointer uint64, stack string) *perfevent.Sample {
	return &perfevent.Sample{
		Header: perfevent.Header{PID: 7, TID: 8, Time: time}, Raw: []byte(words(pointer)), Stack: []byte(stack),
		Regs: perfevent.Registers{ABI: 2, Mask: arch.Mask(arch.Here.SP) | 1, Values: []uint64{5, 0x20000}},
	}
}

func TestMemoryIsReadAtTheEndOfItsPath(t *testing.T) {
	long := strings.Repeat("x", 3*pageSize)
	many := make([]uint64, 100)
	for i := range many {
		many[i] = 0x1000
	}
	host := hostWith(t, map[int]string{
		0x1000: "a\x00b\x00bytes", 0x2ffd: "abcdef", 0x5000: long,
		0x9000: words(0x1000, 0x1002), 0x9100: words(0x1000, 0x77000), 0x9200: words(many...), 0x9600: words(0x5000, 0x1000),
		0xa010: words(0x1004), 0xaff8: words(0xbffd), 0xbffd: "abc",
	}, "")
	stack := "on the stack\x00 and " + words(0x1004) + "no end"
	for _, test := range []struct {
		name    string
		pointer uint64
		p       Pointer
		want    string
		state   state
		certain Certainty
	}{
		{"a text", 0x1004, Pointer{}, "bytes", whole, Late},
		{"an empty text", 0x1100, Pointer{}, "", whole, Late},
		{"a text over the end of a page", 0x2ffd, Pointer{}, "abcdef", whole, Late},
		{"a text into nothing", 0xbffd, Pointer{}, "", unread, Late},
		{"nothing", 0x77000, Pointer{}, "", unread, Late},
		{"a null pointer", 0, Pointer{}, "", unread, Exact},
		{"a text that is too long", 0x5000, Pointer{}, long[:pageSize], cut, Late},
		{"bytes", 0x1001, Pointer{Raw: true, Limit: 3}, "\x00b\x00", cut, Late},
		{"bytes up to where the memory ends", 0xbffd, Pointer{Raw: true, Limit: 8}, "abc", cut, Late},
		{"bytes after the pointer", 0x1000, Pointer{Raw: true, Path: []int64{4}, Limit: 2}, "by", cut, Late},
		{"through a pointer", 0xa000, Pointer{Raw: true, Path: []int64{0x10, 1}, Limit: 2}, "yt", cut, Late},
		{"through a pointer that is nowhere", 0x77000, Pointer{Raw: true, Path: []int64{0, 0}, Limit: 2}, "", unread, Late},
		{"a vector", 0x9000, Pointer{Vector: true}, "a\x00b\x00", whole, Late},
		{"a vector with a text that is nowhere", 0x9100, Pointer{Vector: true}, "", unread, Late},
		{"a vector of too many texts", 0x9200, Pointer{Vector: true}, strings.Repeat("a\x00", maxElements), cut, Late},
		{"a vector of no text", 0x9700, Pointer{Vector: true}, "", whole, Late},
		{"a vector nowhere", 0x77000, Pointer{Vector: true}, "", unread, Late},
		{"a vector with a text that is too long", 0x9600, Pointer{Vector: true, Limit: 5}, "xxxxx...\x00a\x00", whole, Late},
		{"a text in the copy of the stack", 0x20003, Pointer{}, "the stack", whole, Exact},
		{"a text that the copy of the stack does not end", 0x2001a, Pointer{}, "", unread, Late},
		{"bytes in the copy of the stack", 0x20003, Pointer{Raw: true, Limit: 3}, "the", cut, Exact},
		{"bytes beyond the copy of the stack", 0x20000, Pointer{Raw: true, Limit: len(stack) + 1}, "", unread, Late},
		{"through a pointer in the copy of the stack", 0x20012, Pointer{Path: []int64{0, 0}}, "bytes", whole, Late},
	} {
		if test.p.Limit == 0 {
			test.p.Limit = pageSize
		}
		r := New(nil, Options{Host: host})
		got := r.Find(sampleOf(5, test.pointer, stack), &test.p, test.pointer)
		if got.Addr != test.pointer || string(got.Bytes) != test.want || got.Read != (test.state != unread) || got.Cut != (test.state == cut) || got.Certainty != test.certain {
			t.Errorf("%s: %.60q, read %v, cut %v, certainty %d, want %.60q, %d, %d", test.name, got.Bytes, got.Read, got.Cut, got.Certainty,
				test.want, test.state, test.certain)
		}
	}
}

// late is a Reader without a helper of samples whose record is a pointer to a text, at a made-up time.
type late struct {
	*Reader
	clock uint64
}

func newLate(t *testing.T, texts map[int]string, maps string, p Pointer) *late {
	p.AtArrival, p.Limit = true, 100
	r := &late{Reader: New([]Event{{Pointers: []Pointer{p}}}, Options{Host: hostWith(t, texts, maps)})}
	r.now = func() uint64 { return r.clock }
	return r
}

// wantText reports an error unless Take returns a late text, or says that it is lost if want is "".
func (r *late) wantText(t *testing.T, s *perfevent.Sample, want string) {
	t.Helper()
	f := r.Take(0, s)[0]
	if f.Read != (want != "") || string(f.Bytes) != want || f.Certainty != Late {
		t.Errorf("read %v, %q, certainty %d, want %q", f.Read, f.Bytes, f.Certainty, want)
	}
}

func TestWhatIsReadWhenARecordComesIsTakenOnce(t *testing.T) {
	r := newLate(t, map[int]string{0x1000: "x"}, "", Pointer{})
	s := sampleOf(100, 0x1000, "")
	r.Seen(s)
	r.wantText(t, s, "x")
	for _, unknown := range []*perfevent.Sample{s, sampleOf(200, 0x1000, "")} {
		if f := r.Take(0, unknown); len(f) != 1 || f[0].Certainty != Unknown || f[0].Read {
			t.Errorf("%+v", f)
		}
	}
}

func TestWhatTheRecordHasIsNotRead(t *testing.T) {
	r := newLate(t, map[int]string{0x1000: "x"}, "", Pointer{Recorded: func(raw []byte) bool { return len(raw) == 8 }})
	s := sampleOf(100, 0x1000, "")
	r.Seen(s)
	if f := r.Take(0, s)[0]; f.Certainty != Recorded || f.Read || f.Addr != 0x1000 {
		t.Errorf("%+v", f)
	}
}

// A process that runs another program before its memory is read has the other program's memory there.
func TestTextOfTheNextProgramIsDropped(t *testing.T) {
	for _, test := range []struct {
		name  string
		execs []uint64
		pid   uint32
		want  string
	}{
		{"read before the exec", []uint64{160}, 7, "x"},
		{"read after it", []uint64{120}, 7, ""},
		{"read after it, and then another one", []uint64{120, 160}, 7, ""},
		{"another process's exec", []uint64{120}, 9, "x"},
		{"an exec before the event", []uint64{90}, 7, "x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newLate(t, map[int]string{0x1000: "x"}, "", Pointer{})
			s := sampleOf(100, 0x1000, "")
			r.clock = 150
			r.Seen(s)
			for _, when := range test.execs {
				r.Seen(&perfevent.Comm{Header: perfevent.Header{Time: when}, PID: test.pid, TID: test.pid, Exec: true})
			}
			r.Seen(&perfevent.Comm{Header: perfevent.Header{Time: 120}, PID: 7, TID: 7}) // another name
			r.wantText(t, s, test.want)
		})
	}
}

// Two events of a thread with the same pointer were seen when both had happened: the memory has the text of the
// second.
func TestTextThatTheThreadHasReplacedIsDropped(t *testing.T) {
	for _, test := range []struct {
		name   string
		p      Pointer
		second uint64 // time
		addr   uint64
		maps   string
		want   string // of the first
	}{
		{"replaced", Pointer{}, 120, 0x1000, "", ""},
		{"read in time", Pointer{}, 160, 0x1000, "", "x"},
		{"something else put near it", Pointer{}, 120, 0x1008, "", ""},
		{"another place", Pointer{}, 120, 0x1800, "", "x"},
		{"memory that can't be written", Pointer{}, 120, 0x1000, "00001000-00002000 r--p 00000000 00:00 0\n", "x"},
		{"bytes, which may change at any time", Pointer{Raw: true}, 120, 0x1000, "", "x" + strings.Repeat("\x00", 99)},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newLate(t, map[int]string{0x1000: "x"}, test.maps, test.p)
			first, second := sampleOf(100, 0x1000, ""), sampleOf(test.second, test.addr, "")
			r.clock = 150
			r.Seen(first)
			r.clock = 170
			r.Seen(second)
			r.wantText(t, first, test.want)
		})
	}
}

func TestWhatIsNeverTakenIsForgotten(t *testing.T) {
	r := newLate(t, map[int]string{0x1000: "x"}, "", Pointer{})
	for i := range uint64(maxPending + 1000) {
		r.clock = i + 1
		r.Seen(sampleOf(i, 0x1000*(i/maxPending), "")) // null pointers are faster
	}
	if len(r.pending) > maxPending || len(r.order) > maxPending {
		t.Errorf("%d samples are kept", len(r.pending))
	}
	if len(r.last) == 0 || len(r.fixed) == 0 {
		t.Error("nothing is known of a process that goes on")
	}
	r.Seen(&perfevent.Exit{PID: 7, TID: 8})
	r.Seen(&perfevent.Exit{PID: 7, TID: 7})
	if len(r.last)+len(r.fixed) != 0 {
		t.Error("a process that has ended is kept")
	}
	for i := range uint32(3 * maxProcesses) {
		r.Seen(&perfevent.Comm{PID: i, TID: i, Exec: true})
	}
	for range 3 * maxPrograms {
		r.Seen(&perfevent.Comm{PID: 7, TID: 7, Exec: true})
	}
	if p := &r.programs; len(p.recent) > maxProcesses || len(p.older) > maxProcesses || len(p.recent[7]) > maxPrograms {
		t.Errorf("%d and %d processes are kept, and %d programs of one", len(p.recent), len(p.older), len(p.recent[7]))
	}
}

func TestWhatWasTakenIsTheCallers(t *testing.T) {
	r := newLate(t, map[int]string{0x1000: "x"}, "", Pointer{})
	r.clock = 150
	r.Seen(sampleOf(100, 0x1000, ""))
	f := r.Take(0, sampleOf(100, 0x1000, ""))
	r.Seen(sampleOf(120, 0x1000, ""))
	if !f[0].Read {
		t.Error("a later hit has changed it")
	}
}

func TestTakeReturnsTheMostCertainAnswer(t *testing.T) {
	for _, test := range []struct {
		name    string
		pointer uint64 // of the hit, which has "late" at 0x1000 and "stack" in the copy of the stack
		helper  *Found // what the helper has read
		want    Found
	}{
		{"late only", 0x1000, nil, Found{Read: true, Bytes: []byte("late"), Certainty: Late}},
		{"the helper is nearer", 0x1000, &Found{Addr: 0x1000, Read: true, Bytes: []byte("near"), Certainty: Near}, Found{Read: true, Bytes: []byte("near"), Certainty: Near}},
		{"the helper is exact", 0x1000, &Found{Addr: 0x1000, Read: true, Bytes: []byte("exact"), Certainty: Exact}, Found{Read: true, Bytes: []byte("exact"), Certainty: Exact}},
		{"the helper could not read it", 0x1000, &Found{Addr: 0x1000, Certainty: Exact}, Found{Read: true, Bytes: []byte("late"), Certainty: Late}},
		{"the helper has read another hit's pointer", 0x1000, &Found{Addr: 0x1008, Read: true, Bytes: []byte("other"), Certainty: Exact}, Found{Read: true, Bytes: []byte("late"), Certainty: Late}},
		{"the copy of the stack is better than near", 0x20000, &Found{Addr: 0x20000, Read: true, Bytes: []byte("near"), Certainty: Near}, Found{Read: true, Bytes: []byte("stack"), Certainty: Exact}},
		{"nobody could read it", 0x77000, &Found{Addr: 0x77000, Certainty: Near}, Found{Certainty: Near}},
	} {
		r := newLate(t, map[int]string{0x1000: "late"}, "", Pointer{})
		s := sampleOf(100, test.pointer, "stack\x00")
		if f := test.helper; f != nil {
			r.helper.Store(&helperReader{samplings: []int{0}})
			r.ended = true
			what := unread
			if f.Read {
				what = whole
			}
			one := thread{s.TID, 0}
			r.matcher.of(one).readings = []*reading{{thread: one, time: 101, end: 110, certainty: f.Certainty, data: pack(nil, f.Addr, string(f.Bytes), what)}}
		}
		r.Seen(s)
		test.want.Addr = test.pointer
		if got := r.Take(0, s); len(got) != 1 || !reflect.DeepEqual(got[0], test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

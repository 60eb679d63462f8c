package goroutine

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// image is a process's memory: some bytes from an address on.
type image struct {
	base  uint64
	bytes []byte
}

func (m image) read(spans []span, b []byte) error {
	for i := range spans {
		s := &spans[i]
		at := s.addr - m.base
		if s.ok = at <= uint64(len(m.bytes)) && uint64(s.size) <= uint64(len(m.bytes))-at; s.ok {
			copy(b, m.bytes[at:][:s.size])
		}
		b = b[s.size:]
	}
	return nil
}

// imageBase is where the memory begins.
const imageBase = 0x10000

// imagined is memory with a list of one goroutine, which waits: the list's variable,
// a variable that points at the array, the array, the goroutine, its stack.
func imagined(l *layout) []byte {
	b := make([]byte, 2048)
	word := func(at, value int) { binary.LittleEndian.PutUint64(b[at:], uint64(value)) }
	const array, g, stack = 64, 128, 1536
	word(0, imageBase+array)
	word(8, 1)
	word(16, 4)
	word(32, imageBase+array)
	word(array, imageBase+g)
	for f, value := range map[field]int{
		gStackLo: imageBase + stack, gStackHi: imageBase + 2048, gSchedSP: imageBase + stack + 64, gSchedPC: imageBase + 1,
		gSchedG: imageBase + g, gID: 1, gStatus: waiting, gM: imageBase + 1400,
	} {
		word(g+int(l[f]), value)
	}
	return b
}

// imaginedRuntime is a runtime in memory that is not that of a process.
func imaginedRuntime(b []byte, l layout, list uint64) *Runtime {
	table := process.NewTable(process.Options{Host: process.Host{Proc: "/nonexistent"}})
	return &Runtime{
		process: Process{Space: table.Process(-1), Unwinder: callchain.New(callchain.Host())}, memory: image{imageBase, b},
		arch: callchain.Host(), layout: l, reasons: []string{"", "chan receive"}, list: list, bss: symbol{imageBase, uint64(len(b))},
		stacks: callchain.NewInterner(), system: make(map[uint64]bool),
	}
}

func TestAnImaginedGoroutineIsFoundWithSymbolsAndWithout(t *testing.T) {
	l, _, _ := known(newest, callchain.Host())
	for _, list := range []uint64{imageBase, 0} {
		r := imaginedRuntime(imagined(&l), l, list)
		n := 0
		err := r.Goroutines(context.Background(), func(g *Goroutine) bool {
			n++
			if g.ID != 1 || g.Status != "waiting" || g.Missing == "" {
				t.Errorf("it is %+v", g)
			}
			return true
		})
		if n != 1 || err != nil {
			t.Errorf("list at %#x: %d goroutines, %v", list, n, err)
		}
	}
}

// FuzzGoroutines reads goroutines from any memory.
func FuzzGoroutines(f *testing.F) {
	fuzzing.Bound(f)
	l, _, _ := known(newest, callchain.Host())
	f.Add(imagined(&l))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, list := range []uint64{imageBase, 0} {
			r := imaginedRuntime(b, l, list)
			if _, err := r.check(); err != nil {
				continue
			}
			_ = r.Goroutines(context.Background(), func(g *Goroutine) bool {
				if g.ID == 0 || g.Status == "" || g.Status == "dead" {
					t.Errorf("goroutine %+v", g)
				}
				return true
			})
		}
	})
}

// FuzzProgram looks for a runtime in any file.
func FuzzProgram(f *testing.F) {
	fuzzing.Bound(f)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		f.Fatal(err)
	}
	head := bytes.Clone(self[:4096])
	f.Add(head)
	f.Add(append(head, append(append(bytes.Clone(buildInfoMagic), 8, 2), make([]byte, 64)...)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := elfimage.New(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		p := &program{image: m}
		p.version, _ = buildInfo(m)
		bias(m, process.Mapped{Start: 1 << 20, End: 2 << 20})
		if p.supported(callchain.Host()) != "" {
			return
		}
		p.symbols()
		if table, err := p.functions(); err == nil {
			if at := functionNamed(table, allgadd); at != 0 {
				layoutOf(m, at)
			}
		}
	})
}

func TestVersionsAreReadAsReleasesOrNot(t *testing.T) {
	for _, test := range []struct {
		text  string
		minor int
		ok    bool
	}{
		{"go1.18", 18, true},
		{"go1.26.8", 26, true},
		{"go1.27rc1", 27, true},
		{"go1.24.1 X:aliastypeparams", 24, true},
		{"go1.22.3-company", 22, true},
		{"devel go1.26-1234567 Mon Jan 1", 0, false},
		{"go1.", 0, false},
		{"go2.1", 0, false},
		{"", 0, false},
		{"go1.99999999999999999999", 0, false},
	} {
		if minor, ok := minorOf(test.text); minor != test.minor || ok != test.ok {
			t.Errorf("%q is %d, %v; want %d, %v", test.text, minor, ok, test.minor, test.ok)
		}
	}
}

func TestTheWordsOfBuildInformationEndWhereTheyShould(t *testing.T) {
	record := func(flags byte, rest string) []byte {
		return append(append(append(bytes.Clone(buildInfoMagic), 8, flags), make([]byte, 16)...), rest...)
	}
	for _, test := range []struct {
		name  string
		b     []byte
		want  string
		found bool
	}{
		{"as Go 1.18 and later write it", record(2, "\x08go1.26.8\x00"), "go1.26.8", true},
		{"of an older Go", record(0, ""), "", true},
		{"cut short", record(2, "\x08go1"), "", true},
		{"too long", record(2, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01go1"), "", true},
		{"nothing", nil, "", false},
		{"another magic", make([]byte, 64), "", false},
	} {
		if got, found := parseBuildInfo(test.b); got != test.want || found != test.found {
			t.Errorf("%s: %q, %v", test.name, got, found)
		}
	}
}

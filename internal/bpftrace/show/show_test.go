package show

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
	"github.com/ringtap/ringtap/internal/profile/histogram"
)

var update = flag.Bool("update", false, "run bpftrace again and keep what it prints")

// fixedNames answers with what the programs in testdata see.
type fixedNames struct{}

func (fixedNames) Stack(n uint64, user bool, mode string) []string { return nil }
func (fixedNames) Symbol(n uint64, user bool) string               { return "symbol" }
func (fixedNames) User(uid uint64) string                          { return "root" }
func (fixedNames) Cgroup(id uint64) string                         { return "unified:/" }
func (fixedNames) PageFlags(flags uint64) string                   { return fmt.Sprintf("FLAGS|%#x", flags) }
func (fixedNames) Wall(nsecs uint64) time.Time                     { return time.Unix(0, int64(nsecs)).UTC() }

func (fixedNames) Enum(enum string, n uint64) (string, bool) {
	return "ONE", enum == "enum numbers" && n == 1
}

var (
	text    = &types.Type{Kind: types.String, Size: 64}
	buffer  = &types.Type{Kind: types.Buffer, Size: 64}
	address = &types.Type{Kind: types.Inet}
	pair    = tupleOf(types.Int64, text)
)

func tupleOf(elems ...*types.Type) *types.Type {
	t := &types.Type{Kind: types.Tuple}
	for _, e := range elems {
		t.Fields = append(t.Fields, types.Field{Type: e})
	}
	return t
}

func aggregate(k types.Kind) *types.Type { return &types.Type{Kind: k, Signed: true} }

// run is a program of testdata, done by hand.
type run struct {
	*Printer
	maps []*value.Map
	e    value.Encoder
}

// new makes a map, which is printed at the end.
func (r *run) new(name string, of *types.Type, keys ...*types.Type) *value.Map {
	m := value.New(value.Spec{Name: name, Value: of, Keys: keys})
	if of.Kind == types.LHist {
		m.Scale, m.Max = histogram.Steps(0, 10, 10), 100
	}
	r.maps = append(r.maps, m)
	return m
}

func (r *run) key(m *value.Map, parts ...value.Value) value.Key { return r.e.Key(m.Keys, parts) }

func (r *run) printf(format string, args ...any) {
	var of []*types.Type
	var values []value.Value
	for _, a := range args {
		switch a := a.(type) {
		case int:
			of, values = append(of, types.Int64), append(values, value.Signed(int64(a)))
		case string:
			of, values = append(of, text), append(values, value.String(a))
		case []byte:
			of, values = append(of, buffer), append(values, value.String(string(a)))
		}
	}
	f, err := ParseFormat("printf", format, of)
	if err != nil {
		r.Printf(&Format{texts: []string{err.Error()}}, nil)
		return
	}
	r.Printf(f, values)
}

// programs are the programs of testdata.
var programs = map[string]func(r *run){
	"printf": func(r *run) {
		r.printf("%d|%5d|%-5d|%05d|%x|%X|%o|%u\n", -1, 5, 5, 5, 255, 255, 8, -1)
		r.printf("%s|%10s|%-10s|%.3s|%5.1s|\n", "abc", "abc", "abc", "abcdef", "xyz")
		r.printf("%ld %lu %lld %llu %llx\n", -1, -1, -1, -1, -1)
		r.printf("%hx %hhx %hd %hhd %lx %zu %jd %td\n", -1, -1, -1, -1, -1, -1, -1, -1)
		r.printf("%d %x %u %d\n", 0x123456789, 0xffffffffffff, 1<<40, 1<<31)
		r.printf("%p|%20p|%-20p|%p\n", 0x1234, 255, 255, 0)
		r.printf("%.3d|%8.3d|%-8.3d|%08lx|%-08d|\n", 1, 1, 1, 1, 2)
		r.printf("%r|%rx|%rh\n", []byte("ab\x01\xff\n"), []byte("ab\x01"), []byte("ab\x01"))
		r.printf("%%|%d%%|%s\n", 1, "x")
		r.printf("%c%c%5c|%-5c|\n", 111, 107, 97, 98)
		r.printf("%lld %llu\n", -9223372036854775808, -9223372036854775808)
		r.printf("100%% raw\n")
	},
	"print": func(r *run) {
		r.Value(tupleOf(types.Int64, text, tupleOf(types.Int64, types.Int64)),
			value.Tuple(value.Int(1), value.String("x"), value.Tuple(value.Int(2), value.Int(3))))
		r.Value(types.Int64, value.Signed(-1))
		r.Value(text, value.String("str"))
		r.Value(types.Uint8, value.Int(255))
		r.Value(types.Int8, value.Signed(-1))
		r.Value(buffer, value.String("ab\x01"))
		r.Value(types.Uint64, value.Signed(-1))
	},
	"messages": func(r *run) {
		r.Time("literal\n", time.Unix(0, 0))
		r.System([]byte("a command\n"))
		r.Value(address, value.String("\x7f\x00\x00\x01"))
	},
	"maps": func(r *run) {
		a := r.new("@a", types.Int64)
		a.Set(value.Key{}, value.Int(1))
		b := r.new("@b", types.Int64, text)
		b.Set(r.key(b, value.String("x")), value.Signed(-1))
		b.Set(r.key(b, value.String("y")), value.Int(2))
		c := r.new("@c", aggregate(types.Count), types.Int64, text)
		c.AddCount(r.key(c, value.Int(1), value.String("x")))
		d := r.new("@d", aggregate(types.Count))
		d.AddCount(value.Key{})
		e := r.new("@e", aggregate(types.Sum))
		e.AddSum(value.Key{}, value.Signed(-5).N)
		f := r.new("@f", aggregate(types.Min))
		f.AddMin(value.Key{}, value.Signed(-3).N)
		g := r.new("@g", aggregate(types.Max))
		g.AddMax(value.Key{}, 3)
		h := r.new("@h", aggregate(types.Avg))
		h.AddAvg(value.Key{}, 7)
		h.AddAvg(value.Key{}, 8)
		i := r.new("@i", aggregate(types.Stats))
		i.AddAvg(value.Key{}, value.Signed(-7).N)
		i2 := r.new("@i2", aggregate(types.Stats), types.Int64)
		i2.AddAvg(value.IntKey(1), 20)
		i2.AddAvg(value.IntKey(2), 8)
		k := r.new("@k", aggregate(types.Avg), types.Int64)
		k.AddAvg(value.IntKey(1), 20)
		k.AddAvg(value.IntKey(2), 8)
		l := r.new("@l", text, types.Int64)
		l.Set(value.IntKey(1), value.String("str\n\"\x01\\"))
		l.Set(value.IntKey(3), value.String("s2"))
		m := r.new("@m", pair)
		m.Set(value.Key{}, value.Tuple(value.Int(1), value.String("x")))
		n := r.new("@n", buffer)
		n.Set(value.Key{}, value.String("abc\x01"))
		o := r.new("@o", types.Int64, address)
		o.Set(r.key(o, value.String("\x7f\x00\x00\x01")), value.Int(4))
	},
	"order": func(r *run) {
		a := r.new("@a", types.Int64, types.Int64)
		for i, n := range []int64{5, -5, 0, 3} {
			a.Set(value.IntKey(uint64(i)), value.Signed(n))
		}
		b := r.new("@b", text, types.Int64, text)
		for _, n := range []int64{2, 0, 1} {
			b.Set(r.key(b, value.Signed(n), value.String("b")), value.String("v"))
			b.Set(r.key(b, value.Signed(n), value.String("a")), value.String("v"))
		}
		c := r.new("@c", aggregate(types.Max), text)
		c.AddMax(r.key(c, value.String("x")), 9)
		c.AddMax(r.key(c, value.String("y")), 4)
	},
	"bounds": func(r *run) {
		x := r.new("@x", types.Int64, types.Int64)
		for i := range 3 {
			x.Set(value.IntKey(uint64(i+1)), value.Int(uint64(i+1)))
		}
		r.Map(x, 2, 0)
		r.Map(x, 2, 2)
		r.Map(x, 0, 2)
		r.Map(x, 9, 0)
		x.Clear()
		r.Map(x, 0, 0)
		y := r.new("@y", aggregate(types.Avg), text)
		for i, k := range []string{"a", "b", "c", "d"} {
			y.AddAvg(r.key(y, value.String(k)), uint64(i+1)*10)
		}
		r.Map(y, 2, 10)
	},
	"hist": func(r *run) {
		a := r.new("@a", aggregate(types.Hist))
		for _, n := range []int64{5, -5, 0, 1, 2000, 6, 7} {
			a.AddHist(value.Key{}, n)
		}
		b := r.new("@b", aggregate(types.Hist), types.Int64)
		b.AddHist(value.IntKey(1), 1)
		b.AddHist(value.IntKey(2), 5)
		b.AddHist(value.IntKey(2), 6)
		b.AddHist(value.IntKey(2), 1048576)
		r.Map(b, 1, 0)
		r.Map(b, 0, 2)
		c := r.new("@c", aggregate(types.LHist))
		for _, n := range []int64{5, -5, 500, 5, 99, 100} {
			c.AddHist(value.Key{}, n)
		}
		d := r.new("@d", aggregate(types.LHist), types.Int64)
		d.Scale, d.Max = histogram.Steps(0, 1024, 10), 10240
		for _, n := range []int64{2048, 5000, 50000, 5} {
			d.AddHist(value.IntKey(7), n)
		}
		f := r.new("@f", aggregate(types.Hist))
		for i := range int64(30) {
			f.AddHist(value.Key{}, 1<<i)
		}
	},
}

// printed returns what a Printer prints for a program of testdata, as text or as JSON.
func printed(t *testing.T, name, format string) string {
	t.Helper()
	var out bytes.Buffer
	r := &run{Printer: NewPrinter(&out, &out, Debian(), fixedNames{})}
	r.Raw = true // bpftrace escapes nothing
	r.JSON = format == "json"
	r.Attached(1)
	programs[name](r)
	r.End()
	for _, m := range r.maps {
		r.Map(m, 0, 0)
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPrintsWhatBpftracePrints(t *testing.T) {
	for name := range programs {
		for _, format := range []string{"text", "json"} {
			file := filepath.Join("testdata", name+"."+format)
			if *update {
				if err := os.WriteFile(file, bpftrace(t, name, format), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, file, printed(t, name, format), string(want))
		}
	}
}

func compare(t *testing.T, file, got, want string) {
	t.Helper()
	gotLines, wantLines := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		var g, w string
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if g != w {
			t.Errorf("%s:%d: ringtap prints %q, bpftrace %q", file, i+1, g, w)
			return
		}
	}
}

// TestPeerCapturesAreWhatBpftracePrints runs the programs of testdata with the bpftrace that is
// installed. Only 0.17 prints what the captures hold.
func TestPeerCapturesAreWhatBpftracePrints(t *testing.T) {
	version, err := exec.Command("bpftrace", "--version").Output()
	if err != nil || !strings.Contains(string(version), "v0.17") {
		t.Skip("bpftrace 0.17 is not installed")
	}
	for name := range programs {
		for _, format := range []string{"text", "json"} {
			compare(t, name+"."+format, printed(t, name, format), string(bpftrace(t, name, format)))
		}
	}
}

// bpftrace returns what bpftrace prints for a program of testdata.
func bpftrace(t *testing.T, name, format string) []byte {
	t.Helper()
	cmd := exec.Command("bpftrace", "--unsafe", "-f", format, filepath.Join("testdata", name+".bt"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bpftrace %s: %v\n%s", name, err, &stderr)
	}
	return out
}

func TestOnlyStringsThatWereCutHaveTheTrailer(t *testing.T) {
	p := NewPrinter(io.Discard, io.Discard, Default(), nil)
	for _, test := range []struct {
		t    *types.Type
		want string
	}{
		{&types.Type{Kind: types.String, Size: 5}, "hello.."},
		{&types.Type{Kind: types.String, Size: 6}, "hello"},
		{&types.Type{Kind: types.String, Size: 5, Array: true}, "hello"},
	} {
		if got := string(p.text(nil, test.t, value.String("hello"), 0)); got != test.want {
			t.Errorf("%+v: %q, want %q", test.t, got, test.want)
		}
	}
}

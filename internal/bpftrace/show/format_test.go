package show

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

func TestFormatsOfTheWrongArgumentsAreRefused(t *testing.T) {
	for _, c := range []struct {
		format string
		args   []*types.Type
		want   string
	}{
		{"%d\n", nil, "printf: Not enough arguments for format string (0 supplied, 1 expected)"},
		{"%d\n", []*types.Type{text}, "printf: %d specifier expects a value of type integer (string supplied)"},
		{"%llx\n", []*types.Type{text}, "printf: %llx specifier expects a value of type integer (string supplied)"},
		{"%r\n", []*types.Type{types.Int64}, "printf: %r specifier expects a value of type buffer (integer supplied)"},
		{"%gr\n", []*types.Type{buffer}, "printf: %gr specifier expects a value of type integer (buffer supplied)"},
		{"%s\n", []*types.Type{types.Void}, "printf: %s specifier expects a value of type string (none supplied)"},
		{"%d\n", []*types.Type{types.Int64, types.Int64}, "printf: Too many arguments for format string (2 supplied, 1 expected)"},
		{"%y\n", []*types.Type{types.Int64}, "printf: Too many arguments for format string (1 supplied, 0 expected)"},
		{"%f\n", []*types.Type{types.Int64}, "printf: Unknown format string token: %f"},
		{"%99999d\n", []*types.Type{types.Int64}, "printf: the width of %d is greater than 4096"},
		{"100%\n", nil, ""},
		{"%s %s\n", []*types.Type{types.Int64, pair}, ""},
	} {
		_, err := ParseFormat("printf", c.format, c.args)
		if got := errorText(err); got != c.want {
			t.Errorf("%q: %s", c.format, got)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestStringsTakeEveryType(t *testing.T) {
	enum := &types.Type{Kind: types.Int, Size: 4, Name: "enum numbers"}
	numbers := &types.Type{Kind: types.Array, Elem: types.Int16, Len: 3, Size: 6}
	point := &types.Type{Kind: types.Struct, Name: "struct point", Size: 8, Fields: []types.Field{
		{Name: "x", Type: types.Int32},
		{Name: "low", Type: types.Uint32, Offset: 4, Bits: 3},
		{Name: "high", Type: types.Int32, Offset: 4, BitOffset: 3, Bits: 5},
	}}
	for _, c := range []struct {
		of       *types.Type
		v        value.Value
		want     string
		wantJSON string
	}{
		{of: types.Truth, v: value.Bool(true), want: "true", wantJSON: "true"},
		{of: enum, v: value.Int(1), want: "ONE", wantJSON: "1"},
		{of: enum, v: value.Int(2), want: "2", wantJSON: "2"},
		{of: &types.Type{Kind: types.Pointer, Elem: types.Int8}, v: value.Int(255), want: "0xff", wantJSON: "255"},
		{of: numbers, v: value.String("\x01\x00\xff\xff\x02\x00"), want: "[1,-1,2]", wantJSON: "[1,-1,2]"},
		{of: numbers, v: value.String("\x01"), want: "[1,0,0]", wantJSON: "[1,0,0]"},
		{of: point, v: value.String("\x05\x00\x00\x00\xfd\x00\x00\x00"), want: "{ .x = 5, .low = 5, .high = -1 }", wantJSON: `{"x": 5, "low": 5, "high": -1}`},
		{of: &types.Type{Kind: types.MAC}, v: value.String("\xab\xcd\x00\x00\x00\x01"), want: "AB:CD:00:00:00:01", wantJSON: `"AB:CD:00:00:00:01"`},
		{of: address, v: value.String("\xfe\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"), want: "fe80::1", wantJSON: `"fe80::1"`},
		{of: &types.Type{Kind: types.String, Size: 4}, v: value.String("abcd"), want: "abcd..", wantJSON: `"abcd.."`},
		{of: &types.Type{Kind: types.Username}, v: value.Int(0), want: "root", wantJSON: `"root"`},
		{of: &types.Type{Kind: types.Timestamp}, v: value.Value{N: 3_000_000_000, S: "%H:%M:%S.%f"}, want: "00:00:03.000000", wantJSON: `"00:00:03.000000"`},
	} {
		p := NewPrinter(nil, nil, Default(), fixedNames{})
		f, err := ParseFormat("printf", "%s", []*types.Type{c.of})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Sprintf(f, []value.Value{c.v}); got != c.want {
			t.Errorf("%+v: %q, want %q", c.v, got, c.want)
		}
		if got := string(p.json(nil, c.of, c.v)); got != c.wantJSON {
			t.Errorf("%+v: %s, want %s", c.v, got, c.wantJSON)
		}
	}
}

func TestEnumsInJSONAreNumbersWhereverTheyStand(t *testing.T) {
	var out bytes.Buffer
	p := NewPrinter(&out, nil, Current(), fixedNames{})
	p.JSON = true
	p.Value(tupleOf(types.Uint64, types.Int64), value.Tuple(value.Int(1<<63+1), value.Signed(-5)))
	if got, want := out.String(), `{"type": "value", "data": ["9223372036854775809",-5]}`+"\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTimesAreThoseOfDate(t *testing.T) {
	conversions := "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%"
	for _, at := range []int64{0, 1704067199, 1709210096, 1735689600, 1798761599, 4102444799} {
		when := time.Unix(at, 123456789).UTC()
		for _, c := range conversions {
			for _, flag := range []string{"", "-", "_", "0"} {
				format := "%" + flag + string(c)
				if flag != "" && (c == 'z' || c == '%') {
					continue // glibc and date disagree
				}
				cmd := exec.Command("date", "-u", "-d", when.Format(time.RFC3339), "+"+format+".")
				cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
				out, err := cmd.Output()
				if err != nil {
					t.Fatal(err)
				}
				want := strings.TrimSuffix(string(out), "\n")
				if got := string(strftime(nil, format+".", when, false)); got != want {
					t.Errorf("%s at %d: %q, want %q", format, at, got, want)
				}
			}
		}
	}
}

func TestPrintingNumbersAllocatesNothing(t *testing.T) {
	var out bytes.Buffer
	out.Grow(1 << 20)
	p := NewPrinter(&out, nil, Default(), fixedNames{})
	f, err := ParseFormat("printf", "%d %-16s %8llx\n", []*types.Type{types.Int64, text, types.Int64})
	if err != nil {
		t.Fatal(err)
	}
	args := []value.Value{value.Int(1), value.String("bash"), value.Int(255)}
	if n := testing.AllocsPerRun(100, func() { p.Printf(f, args) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{"%d", "%-08.3lld%%", "%", "%*.*s", "%rh%rx%r", "%+ #0x", "%99999999999999999999d"} {
		f.Add(s, int64(-5), "text")
	}
	f.Fuzz(func(t *testing.T, format string, n int64, s string) {
		p := NewPrinter(nil, nil, Default(), fixedNames{})
		for _, of := range []*types.Type{types.Int64, text, buffer} {
			v := value.Value{N: uint64(n), S: s}
			var args []*types.Type
			var values []value.Value
			for range 4 {
				if parsed, err := ParseFormat("printf", format, args); err == nil {
					got := p.Sprintf(parsed, values)
					if limit := len(format)*(maxWidth+1) + 4*4*len(s) + 100; len(got) > limit {
						t.Fatalf("%d bytes", len(got))
					}
				}
				args, values = append(args, of), append(values, v)
			}
		}
		strftime(nil, format, time.Unix(n>>20, 0), true)
	})
}

func BenchmarkPrintf(b *testing.B) {
	p := NewPrinter(nopWriter{}, nil, Default(), fixedNames{})
	p.Mode = Full
	f, err := ParseFormat("printf", "%-6d %-16s %4d %s\n", []*types.Type{types.Int64, text, types.Int64, text})
	if err != nil {
		b.Fatal(err)
	}
	args := []value.Value{value.Int(12345), value.String("bash"), value.Int(3), value.String("/etc/ld.so.cache")}
	b.ReportAllocs()
	for b.Loop() {
		p.Printf(f, args)
	}
}

type nopWriter struct{}

func (nopWriter) Write(b []byte) (int, error) { return len(b), nil }

package usertext

import (
	"reflect"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/readmem/athit"
)

func TestPathsOfFetchArguments(t *testing.T) {
	base, _ := parse("+0($retval)")
	stackPointer := int(arch.Here.SP.Perf)
	for text, want := range map[string]*athit.Pointer{
		"+0($retval)":               {InRegister: true, Register: base.Register, Path: []int64{0}},
		"+8(+16($retval))":          {InRegister: true, Register: base.Register, Path: []int64{16, 8}},
		"-0x10(+u8(-24($retval)))":  {InRegister: true, Register: base.Register, Path: []int64{-24, 8, -16}},
		"+0($stack2)":               {InRegister: true, Register: stackPointer, Path: []int64{16, 0}},
		"+24($stack)":               {InRegister: true, Register: stackPointer, Path: []int64{24}},
		"$retval":                   nil,
		"@0x1000":                   nil,
		"+0(@+0x1000)":              nil,
		"+0(%nothing)":              nil,
		"+0($stack":                 nil,
		"+(%di)":                    nil,
		"+0(+0($retval)":            nil,
		"+99999999999999999999($r)": nil,
		"":                          nil,
	} {
		got, ok := parse(text)
		if ok != (want != nil) || ok && !reflect.DeepEqual(got, *want) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, ok, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("+8(+16(%dx))")
	f.Add("-0x8(+u0($stack3))")
	f.Fuzz(func(t *testing.T, text string) {
		if got, ok := parse(text); ok && (len(got.Path) == 0 || got.Register > 63 || got.Register < 0) {
			t.Errorf("%q: %+v", text, got)
		}
	})
}

// recordFormat is that of a probe that fetches two texts and a number.
func recordFormat() *ftrace.Format {
	text := func(name string, at int) ftrace.Field {
		return ftrace.Field{Name: name, Type: "char", Offset: at, Size: 4, Location: ftrace.DataLoc, Array: true, ElemSize: 1, String: true}
	}
	return &ftrace.Format{Name: "hit", Fields: []ftrace.Field{
		{Name: "common_type", Type: "unsigned short", Size: 2, ElemSize: 2, Common: true},
		{Name: ftrace.FieldProbeIP, Type: "unsigned long", Offset: 8, Size: 8, ElemSize: 8},
		text("first", 16), {Name: "n", Type: "u32", Offset: 20, Size: 4, ElemSize: 4}, text("second", 24),
	}}
}

// kernelRecord has the texts "one" and "two".
func kernelRecord() []byte {
	raw := make([]byte, 28)
	raw[16], raw[18] = 28, 4
	raw[20] = 7
	raw[24], raw[26] = 32, 4
	return append(raw, "one\x00two\x00"...)
}

func TestATextIsPutInThePlaceOfTheKernels(t *testing.T) {
	f := recordFormat()
	l := newLayout(f, []*ftrace.Field{f.Field("first"), f.Field("second")})
	dst := l.begin([]byte("before"), kernelRecord())
	text := func(name string) string {
		b, _ := l.format.Field(name).Bytes(dst[6:])
		return string(b)
	}
	if text("first") != "one" || text("second") != "two" {
		t.Errorf("%q, %q", text("first"), text("second"))
	}
	dst = l.put(dst, 6, 1, []byte("a longer one"), true, true)
	if text("first") != "one" || text("second") != "a longer one..." {
		t.Errorf("%q, %q", text("first"), text("second"))
	}
	for name, want := range map[string]uint64{"__first_late": 0, "__second_late": 1, "n": 7} {
		if got, ok := l.format.Field(name).Uint(dst[6:]); !ok || got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	dst = l.put(dst, 6, 0, make([]byte, 1<<20), false, false)
	if len(dst)-6 > maxRecord {
		t.Errorf("the record has %d bytes", len(dst)-6)
	}
}

func FuzzLayout(f *testing.F) {
	f.Add(kernelRecord(), []byte("text"))
	f.Fuzz(func(t *testing.T, raw, text []byte) {
		format := recordFormat()
		l := newLayout(format, []*ftrace.Field{format.Field("first"), format.Field("second")})
		dst := l.begin(nil, raw)
		for i := range l.texts {
			dst = l.put(dst, 0, i, text, len(text) > 10, true)
		}
		if len(dst) > max(maxRecord, len(raw)+len(l.texts)) {
			t.Errorf("%d bytes of %d", len(dst), len(raw))
		}
		for i := range l.format.Fields {
			l.format.Fields[i].Text(dst)
		}
	})
}

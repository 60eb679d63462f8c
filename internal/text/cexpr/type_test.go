package cexpr

import "testing"

func TestTypesAreFoundByTheirNames(t *testing.T) {
	for name, want := range map[string]Type{
		"int": Int, "unsigned": UInt, "long unsigned int": ULong, "const volatile long long": Long, "u8": Byte, "char": {Size: 1, Signed: true},
		"short": {Size: 2, Signed: true}, "bool": {Size: 1, Bool: true}, "enum state": UInt, "pid_t": Int, "void": Byte, "uint16": {Size: 2}, "time_t": Long, "long long unsigned int": ULong,
	} {
		if got, ok := LookupType(name); !ok || got != want {
			t.Errorf("%s is %+v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "struct page", "const", "nothing", "void int", "unsigned signed", "long char", "int int", "long long long", "char int"} {
		if got, ok := LookupType(name); ok {
			t.Errorf("%q is %+v", name, got)
		}
	}
	if p, ok := LookupType("const char *"); !ok || !p.Pointer || p.Size != 8 || *p.Element != (Type{Size: 1, Signed: true}) {
		t.Errorf("a pointer is %+v, %v", p, ok)
	}
}

func TestNumbersAreConvertedAsInC(t *testing.T) {
	const minusOne = 1<<64 - 1
	for _, test := range []struct {
		typ      Type
		in, want uint64
	}{
		{Byte, 0x1ff, 0xff}, {Type{Size: 1, Signed: true}, 0xff, minusOne}, {Int, 0x80000000, 0xffffffff80000000}, {UInt, minusOne, 0xffffffff},
		{Long, minusOne, minusOne}, {Type{Size: 1, Bool: true}, 0x100, 1}, {Type{}, 7, 7},
	} {
		if got := test.typ.Convert(test.in); got != test.want {
			t.Errorf("%#x as %+v is %#x, want %#x", test.in, test.typ, got, test.want)
		}
	}
	short := Type{Size: 2}
	for _, test := range []struct{ a, b, want Type }{
		{Byte, short, Int}, {Int, UInt, UInt}, {UInt, Long, Long}, {Long, ULong, ULong}, {Int, Int, Int},
	} {
		if got := Common(test.a, test.b); got != test.want {
			t.Errorf("%+v and %+v are calculated in %+v, want %+v", test.a, test.b, got, test.want)
		}
	}
}

package ftrace

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/internal/text/escape"
)

// record has an int -2 at 0, a __data_loc at 4 and a __rel_loc at 8 that both
// mean "text\0" at 16, a 2 at 23, and 8 bytes 0xf0…f7 at 24.
func record() []byte {
	raw := make([]byte, 32)
	le := binary.LittleEndian
	le.PutUint32(raw, 0xfffffffe)
	le.PutUint32(raw[4:], 5<<16|16)
	le.PutUint32(raw[8:], 5<<16|4)
	copy(raw[16:], "text\x00and more")
	for i := range 8 {
		raw[24+i] = byte(0xf0 + i)
	}
	raw[23] = 2
	return raw
}

func TestFieldsGiveTheirValues(t *testing.T) {
	raw := record()
	for _, test := range []struct {
		name    string
		field   Field
		uint    uint64
		int     int64
		integer bool
		bytes   string
		text    string
	}{
		{"a signed integer", Field{Size: 4, ElemSize: 4, Signed: true}, 0xfffffffe, -2, true, "\xfe\xff\xff\xff", "-2"},
		{"an unsigned one", Field{Size: 4, ElemSize: 4}, 0xfffffffe, 0xfffffffe, true, "\xfe\xff\xff\xff", "4294967294"},
		{"a signed bit field", Field{Offset: 24, Size: 1, ElemSize: 1, Signed: true, SignBits: 5}, 0xf0, -16, true, "\xf0", "-16"},
		{"a pointer", Field{Type: "void *", Offset: 24, Size: 8, ElemSize: 8}, 0xf7f6f5f4f3f2f1f0, -0x08090a0b0c0d0e10, true, "\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7", "0xf7f6f5f4f3f2f1f0"},
		{"a string elsewhere", Field{Type: "char", Offset: 4, Size: 4, ElemSize: 1, Location: DataLoc, Array: true, String: true}, 0, 0, false, "text", "text"},
		{"a string of four bytes at most", Field{Type: "char", Offset: 4, Size: 4, ElemSize: 1, Location: DataLoc, Array: true, String: true, LengthOffset: 6, LengthSize: 1}, 0, 0, false, "text", "text"},
		{"a string of two bytes", Field{Type: "char", Offset: 4, Size: 4, ElemSize: 1, Location: DataLoc, Array: true, String: true, LengthOffset: 23, LengthSize: 1}, 0, 0, false, "te", "te"},
		{"a string counted from the field", Field{Type: "char", Offset: 8, Size: 4, ElemSize: 1, Location: RelLoc, Array: true, String: true}, 0, 0, false, "text", "text"},
		{"a string in place", Field{Type: "char", Offset: 16, Size: 8, ElemSize: 1, Length: 8, Array: true, String: true}, 0, 0, false, "text", "text"},
		{"an array", Field{Type: "s16", Offset: 24, Size: 4, ElemSize: 2, Length: 2, Array: true, Signed: true}, 0, 0, false, "\xf0\xf1\xf2\xf3", "{-3600,-3086}"},
		{"a structure", Field{Type: "struct x", Offset: 24, Size: 3, ElemSize: 3}, 0, 0, false, "\xf0\xf1\xf2", "f0f1f2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			u, ok := test.field.Uint(raw)
			i, ok2 := test.field.Int(raw)
			if u != test.uint || i != test.int || ok != test.integer || ok2 != ok {
				t.Errorf("Uint, Int = %#x, %d, %t; want %#x, %d, %t", u, i, ok, test.uint, test.int, test.integer)
			}
			if b, ok := test.field.Bytes(raw); !ok || string(b) != test.bytes {
				t.Errorf("Bytes = %q, %t; want %q", b, ok, test.bytes)
			}
			if text := test.field.Text(raw); text != test.text {
				t.Errorf("Text = %q; want %q", text, test.text)
			}
		})
	}
}

func TestFieldsOfShortRecordsHaveNoValue(t *testing.T) {
	for n := range 28 {
		raw := record()[:n]
		for _, f := range []Field{
			{Offset: 24, Size: 4, ElemSize: 4},
			{Offset: 4, Size: 4, ElemSize: 1, Location: DataLoc, Array: true, String: true},
			{Offset: 8, Size: 4, ElemSize: 1, Location: RelLoc, Array: true, String: true},
		} {
			_, ok := f.Bytes(raw)
			if end := map[Location]int{Inline: 28, DataLoc: 21, RelLoc: 21}[f.Location]; ok != (n >= end) {
				t.Errorf("Bytes of %+v in %d bytes: %t", f, n, ok)
			}
		}
	}
}

func TestStringsOfTargetsCannotDisturbATerminal(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"plain ~ text \\ \"quoted\"", "plain ~ text \\ \"quoted\""},
		{"é 日本 🙂 \ufffd", "é 日本 🙂 \ufffd"},
		{"\x1b[2Jline\nnext\ttab\r", `\x1b[2Jline\nnext\ttab\r`},
		{"\x00\x7f\x9b\xff", `\x00\x7f\x9b\xff`},
		{"\u009b31m\u0085", `\u009b31m\u0085`},
		{"\u202edrow", `\u202edrow`},
		{"cut \xe6\x97", `cut \xe6\x97`},
	} {
		if got := string(escape.Append(nil, []byte(test.text))); got != test.want {
			t.Errorf("%q is shown as %s, want %s", test.text, got, test.want)
		}
	}
}

func TestFieldsAreReadWithoutAllocating(t *testing.T) {
	f := Field{Type: "char", Offset: 4, Size: 4, ElemSize: 1, Location: DataLoc, Array: true, String: true}
	number := Field{Size: 4, ElemSize: 4, Signed: true}
	raw := record()
	if n := testing.AllocsPerRun(100, func() {
		b, _ := f.Bytes(raw)
		v, _ := number.Int(raw)
		if !bytes.Equal(b, []byte("text")) || v != -2 {
			t.Error(b, v)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

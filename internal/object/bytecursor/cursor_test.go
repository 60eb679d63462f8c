package bytecursor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

func TestNumbersAreReadInTheirEncodings(t *testing.T) {
	signed := func(c *Cursor) uint64 { return uint64(c.SLEB()) }
	size := func(n int) func(*Cursor) uint64 { return func(c *Cursor) uint64 { return c.Uint(n) } }
	for _, test := range []struct {
		name  string
		order binary.ByteOrder
		data  string
		read  func(c *Cursor) uint64
		want  uint64
		err   error
	}{
		{"unsigned LEB128 of one byte", nil, "\x7f", (*Cursor).ULEB, 127, nil},
		{"unsigned LEB128 of two bytes", nil, "\x80\x01", (*Cursor).ULEB, 128, nil},
		{"unsigned LEB128 of 64 bits", nil, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", (*Cursor).ULEB, math.MaxUint64, nil},
		{"unsigned LEB128 padded beyond 64 bits", nil, "\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", (*Cursor).ULEB, 1, nil},
		{"unsigned LEB128 of more than 64 bits", nil, "\x82\x80\x80\x80\x80\x80\x80\x80\x80\x7e", (*Cursor).ULEB, 2, nil},
		{"unsigned LEB128 without an end", nil, "\x80\x80", (*Cursor).ULEB, 0, ErrShort},
		{"signed LEB128", nil, "\x80\x7f", signed, ^uint64(127), nil},
		{"signed LEB128 of one byte", nil, "\x3f", signed, 63, nil},
		{"negative LEB128 of one byte", nil, "\x40", signed, ^uint64(63), nil},
		{"signed LEB128 of 64 bits", nil, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", signed, 1 << 63, nil},
		{"signed LEB128 padded beyond 64 bits", nil, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", signed, math.MaxUint64, nil},
		{"signed LEB128 without an end", nil, "\xff", signed, 0, ErrShort},
		{"two bytes, little end first", binary.LittleEndian, "\x01\x02", size(2), 0x0201, nil},
		{"three bytes, little end first", binary.LittleEndian, "\x01\x02\x03", size(3), 0x030201, nil},
		{"three bytes, big end first", binary.BigEndian, "\x01\x02\x03", size(3), 0x010203, nil},
		{"four bytes, big end first", binary.BigEndian, "\x01\x02\x03\x04", size(4), 0x01020304, nil},
		{"eight bytes, little end first", binary.LittleEndian, "\x01\x02\x03\x04\x05\x06\x07\x08", size(8), 0x0807060504030201, nil},
		{"too few bytes", binary.LittleEndian, "\x01\x02\x03", size(4), 0, ErrShort},
		{"a size that no integer has", binary.LittleEndian, "\x01\x02\x03\x04\x05", size(5), 0, errSize},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := New([]byte(test.data), 0, test.order)
			if got := test.read(&c); got != test.want || !errors.Is(c.Err(), test.err) {
				t.Errorf("got %#x, error %v, want %#x, %v", got, c.Err(), test.want, test.err)
			}
			if c.Left() != 0 {
				t.Errorf("%d bytes left", c.Left())
			}
		})
	}
}

func TestACursorThatHasFailedStaysSo(t *testing.T) {
	first := errors.New("the first")
	c := New([]byte("abc\x00"), 1, binary.LittleEndian)
	c.Fail(first)
	c.Seek(0)
	if c.U8() != 0 || c.ULEB() != 0 || c.CString() != nil || c.Bytes(1) != nil || c.Left() != 0 || c.Err() != first {
		t.Errorf("it reads on at %d: %v", c.Offset(), c.Err())
	}
	if c := New([]byte("abc"), 4, nil); c.Err() != ErrShort || c.Left() != 0 {
		t.Errorf("an offset beyond the end: %v, %d bytes left", c.Err(), c.Left())
	}
}

func TestPlacesInTheDataCanBeChosen(t *testing.T) {
	c := New([]byte("ab\x00cdef"), 0, nil)
	if got := c.CString(); string(got) != "ab" || c.Offset() != 3 {
		t.Errorf("%q, then offset %d", got, c.Offset())
	}
	if c.CString(); c.Err() != ErrShort {
		t.Errorf("a string without an end: %v", c.Err())
	}
	c = New([]byte("abcdef"), 1, nil)
	c.Limit(3)
	c.Limit(9)
	if c.Skip(1); string(c.Rest()) != "cd" || c.Left() != 2 {
		t.Errorf("%q is left", c.Rest())
	}
	if c.Seek(0); string(c.Bytes(2)) != "ab" || c.Err() != nil {
		t.Error(c.Err())
	}
	if c.Seek(5); c.Err() != ErrShort {
		t.Errorf("an offset beyond the limit: %v", c.Err())
	}
}

// FuzzCursor reads what the first bytes ask for from the rest.
func FuzzCursor(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7}, []byte("\x80\x7f\x01abc\x00\xff\xff\x01\x02\x03\x04\x05\x06\x07\x08"))
	f.Fuzz(func(t *testing.T, steps, data []byte) {
		c := New(data, 0, binary.LittleEndian)
		for _, step := range steps {
			before, failed := c.Offset(), c.Err() != nil
			var got []byte
			switch n := uint64(step >> 3); step & 7 {
			case 0:
				c.ULEB()
			case 1:
				c.SLEB()
			case 2:
				got = c.CString()
			case 3:
				got = c.Bytes(n)
			case 4:
				c.Skip(n)
			case 5:
				c.Uint(int(n))
			case 6:
				c.Seek(n)
			case 7:
				c.Limit(n)
			}
			if c.Offset() > uint64(len(data)) || c.Left() != uint64(len(c.Rest())) {
				t.Fatalf("it is at %d of %d bytes, %d left", c.Offset(), len(data), c.Left())
			}
			if failed && (c.Err() == nil || c.Left() != 0) {
				t.Fatalf("it reads on after an error")
			}
			if !bytes.HasPrefix(data[before:], got) {
				t.Fatalf("%q is not at %d", got, before)
			}
		}
	})
}

func BenchmarkULEB(b *testing.B) {
	data := bytes.Repeat([]byte("\x05\x80\x01\x10\x83\x82\x01"), 1000)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		for c := New(data, 0, binary.LittleEndian); c.Left() > 0; {
			c.ULEB()
		}
	}
}

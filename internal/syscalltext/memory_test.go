package syscalltext

import (
	"encoding/binary"
	"strings"
	"testing"
)

const page = 4096

// fakeMemory is an address space: pages by their addresses.
type fakeMemory map[uint64][]byte

func (m fakeMemory) read(_ int, addr uint64, b []byte) int {
	n := 0
	for n < len(b) {
		at := addr + uint64(n)
		bytes, ok := m[at&^(page-1)]
		if !ok {
			break
		}
		n += copy(b[n:], bytes[at%page:])
	}
	return n
}

func pageOf(at int, text string) []byte {
	b := make([]byte, page)
	copy(b[at:], text)
	return b
}

func TestTextIsReadUpToItsZero(t *testing.T) {
	long := strings.Repeat("x", 3*page)
	m := fakeMemory{
		0x1000: pageOf(0, "/etc/passwd"),
		0x2000: pageOf(page-3, "abc"), 0x3000: pageOf(0, "def"),
		0x5000: pageOf(page-3, "abc"),
		0x8000: []byte(long[:page]), 0x9000: []byte(long[:page]), 0xa000: []byte(long[:page]),
	}
	for _, test := range []struct {
		name string
		addr uint64
		want string
	}{
		{"text", 0x1000, "/etc/passwd\x00"},
		{"no text", 0x1100, "\x00"},
		{"over the end of a page", 0x2ffd, "abcdef\x00"},
		{"into nothing", 0x5ffd, ""},
		{"nothing", 0x7000, ""},
		{"more than a path may have", 0x8000, long[:maxText-4] + "...\x00"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := string(memory(m.read).appendString(nil, 1, test.addr, maxText)); got != test.want {
				t.Errorf("got %d bytes %.40q, want %d %.40q", len(got), got, len(test.want), test.want)
			}
		})
	}
}

func TestAVectorIsAllOrNothing(t *testing.T) {
	vector := func(pointers ...uint64) []byte {
		var b []byte
		for _, p := range pointers {
			b = binary.LittleEndian.AppendUint64(b, p)
		}
		return append(b, make([]byte, page-len(b))...)
	}
	many := make([]uint64, 100)
	for i := range many {
		many[i] = 0x1000
	}
	m := fakeMemory{
		0x1000: pageOf(0, "a\x00b\x00"),
		0x2000: vector(0x1000, 0x1002), 0x3000: vector(0x1000, 0x7000), 0x4000: vector(many...), 0x5000: vector(),
	}
	for _, test := range []struct {
		name string
		addr uint64
		want string
	}{
		{"two", 0x2000, "a\x00b\x00"},
		{"one that is not there", 0x3000, ""},
		{"too many", 0x4000, strings.Repeat("a\x00", maxElements) + "...\x00"},
		{"none", 0x5000, ""},
		{"nowhere", 0x7000, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := string(memory(m.read).appendVector(nil, 1, test.addr)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

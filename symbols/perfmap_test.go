package symbols

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

func TestPerfMapLookup(t *testing.T) {
	text := `7f0000001000 20 LazyCompile:~first /app/a b.js:1
7f0000001020 0x10 second
0x7f0000002000 100 old code
nonsense
7f0000002040 20 new code
7f0000003000 0 empty
7f0000003000 10
7f0000004000 ffffffffff too long
ffffffffffffffff 10 beyond the end
7f0000005000 10 last without a newline`
	p, err := ReadPerfMap(strings.NewReader(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		addr uint64
		want string
	}{
		{0x7f0000000fff, ""},
		{0x7f0000001000, "LazyCompile:~first /app/a b.js:1"},
		{0x7f000000101f, "LazyCompile:~first /app/a b.js:1"},
		{0x7f0000001020, "second"},
		{0x7f0000001030, ""},
		{0x7f000000203f, "old code"},
		{0x7f0000002040, "new code"},
		{0x7f000000205f, "new code"},
		{0x7f0000002060, "old code"},
		{0x7f00000020ff, "old code"},
		{0x7f0000002100, ""},
		{0x7f0000003000, ""},
		{0x7f000000500f, "last without a newline"},
		{0, ""},
	}
	for _, tt := range tests {
		if s, ok := p.Lookup(tt.addr); s.Name != tt.want || ok != (tt.want != "") {
			t.Errorf("Lookup(%#x) = %+v, %v, want %q", tt.addr, s, ok, tt.want)
		}
	}
	if p.BadLines != 5 || p.Cut {
		t.Errorf("BadLines = %d, Cut = %v, want 5 and false", p.BadLines, p.Cut)
	}
}

func TestPerfMapBounds(t *testing.T) {
	const line = "1000 10 name\n"
	p, err := ReadPerfMap(strings.NewReader(strings.Repeat(line, 100)), int64(len(line)*10))
	if err != nil || !p.Cut || p.Len() != 1 {
		t.Errorf("beyond the limit: %+v, %v", p, err)
	}
	if p, err = ReadPerfMap(strings.NewReader(line), int64(len(line))); err != nil || p.Cut {
		t.Errorf("at the limit: %+v, %v", p, err)
	}
	long := "1000 10 " + strings.Repeat("x", 1<<20) + "\n2000 10 name\n"
	p, err = ReadPerfMap(strings.NewReader(long), 0)
	if err != nil || p.BadLines != 1 || p.Len() != 1 {
		t.Errorf("a line of a megabyte: %d bad, %d good, %v", p.BadLines, p.Len(), err)
	}
	broken := errors.New("broken")
	if _, err := ReadPerfMap(io.MultiReader(strings.NewReader(line), iotest.ErrReader(broken)), 0); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestOverlappingEntriesGiveWayToLaterOnes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var text strings.Builder
		want := make([]string, 64)
		for i := range 20 {
			start, size := random.IntN(60), 1+random.IntN(4+random.IntN(60))
			size = min(size, 64-start)
			fmt.Fprintf(&text, "%x %x n%d\n", start, size, i)
			for a := start; a < start+size; a++ {
				want[a] = fmt.Sprintf("n%d", i)
			}
		}
		p, err := ReadPerfMap(strings.NewReader(text.String()), 0)
		if err != nil {
			t.Fatal(err)
		}
		for a, name := range want {
			if s, _ := p.Lookup(uint64(a)); s.Name != name {
				t.Fatalf("address %#x: got %q, want %q in\n%s", a, s.Name, name, text.String())
			}
		}
	}
}

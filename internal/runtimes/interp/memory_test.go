package interp

import (
	"debug/elf"
	"os"
	"testing"
	"unsafe"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

func TestAnImageHasWhatItsPagesHave(t *testing.T) {
	m := Image{{0x1000, []byte("abcd")}, {0x1004, []byte("ef")}, {0x2000, []byte("g")}}
	for _, test := range []struct {
		addr uint64
		n    int
		want string // "" where it is not all there
	}{
		{0x1000, 2, "ab"}, {0x1003, 3, "def"}, {0x2000, 1, "g"}, {0x1005, 1, "f"},
		{0xfff, 2, ""}, {0x1005, 2, ""}, {0x2001, 1, ""}, {0, 1, ""}, {1<<64 - 1, 2, ""}, {0x2000, 2, ""},
	} {
		b := make([]byte, test.n)
		if ok := m.Read(test.addr, b); ok != (test.want != "") || ok && string(b) != test.want {
			t.Errorf("%d bytes at %#x: %q %t, want %q", test.n, test.addr, b, ok, test.want)
		}
	}
}

func TestLiveMemoryIsRead(t *testing.T) {
	there := []byte("in this process")
	b := make([]byte, len(there))
	if !Live(os.Getpid()).Read(uint64(uintptr(unsafe.Pointer(&there[0]))), b) || string(b) != string(there) {
		t.Errorf("%q", b)
	}
	if Live(os.Getpid()).Read(8, b) {
		t.Error("there is memory at 8")
	}
}

// Each symbol that libc exports is found where debug/elf says, and no other.
func TestSymbolsAreFoundAsTheDynamicLinkerDoes(t *testing.T) {
	path := ""
	for _, p := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6"} {
		if _, err := os.Stat(p); err == nil {
			path = p
		}
	}
	if path == "" {
		t.Skip("no libc is where it is looked for")
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	image, err := elfimage.New(r, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	const bias = 0x10000
	m := &Module{Image: image, Bias: bias}
	at := make(map[string][]uint64) // several versions of one name
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			at[s.Name] = append(at[s.Name], s.Value+bias)
		}
	}
	for name, places := range at {
		s, ok := m.Symbol(name)
		if !ok {
			t.Errorf("%s is not found", name)
			continue
		}
		found := false
		for _, place := range places {
			found = found || place == s.Addr
		}
		if !found {
			t.Errorf("%s is at %#x, want one of %#x", name, s.Addr, places)
		}
	}
	if _, ok := m.Symbol("no_such_symbol"); ok {
		t.Error("there is a no_such_symbol")
	}
}

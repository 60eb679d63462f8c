package interp

import (
	"debug/elf"
	"os"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/compiled"
	"github.com/ringtap/ringtap/internal/elfimage"
)

// moduleOf is the module of a file that no process has mapped.
func moduleOf(t *testing.T, path string) *Module {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	image, err := elfimage.New(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	return &Module{Path: path, Image: image}
}

func TestAFunctionsPiecesAreFoundByTheirJumps(t *testing.T) {
	for compiler, arch := range map[string]callchain.Arch{"gcc": callchain.Host(), "aarch64-linux-gnu-gcc": callchain.ARM64} {
		t.Run(compiler, func(t *testing.T) {
			path := compiled.Program(t, compiled.Sources(t, "testdata/pieces.c"), compiler, "-o", "pieces.so", "pieces.c",
				"-O2", "-freorder-blocks-and-partition", "-shared", "-fPIC", "-nostdlib", "-fno-semantic-interposition", "-Wl,--hash-style=gnu")
			m := moduleOf(t, path)
			s, ok := m.Symbol("loop")
			if !ok {
				t.Fatal("there is no function loop")
			}
			want := []Span{m.Span(s)}
			f, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			symbols, err := f.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			for _, cold := range symbols {
				if strings.HasPrefix(cold.Name, "loop.cold") {
					want = append(want, m.Span(Symbol{Addr: cold.Value, Size: cold.Size}))
				}
			}
			if got := m.Pieces(s, arch); len(want) != 2 || got[0] != want[0] || len(got) != 2 || got[1] != want[1] {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// FuzzJumps decodes bytes as code of both architectures.
func FuzzJumps(f *testing.F) {
	f.Add([]byte{0x0f, 0x84, 0, 0, 0, 0x80, 0xeb, 0xfe, 0xe9})
	f.Add([]byte{0xff, 0xff, 0xff, 0x17, 0x41, 0, 0, 0x54})
	f.Fuzz(func(t *testing.T, code []byte) {
		for _, arch := range []callchain.Arch{callchain.AMD64, callchain.ARM64} {
			e := extent{1 << 20, 1<<20 + uint64(len(code))}
			n := 0
			for to := range (&pieces{arch: arch}).jumps(e, code) {
				if n++; e.has(to) || n > len(code) {
					t.Errorf("jump %d to %#x", n, to)
				}
			}
		}
	})
}

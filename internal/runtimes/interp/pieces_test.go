package interp_test

import (
	"bytes"
	"debug/elf"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

// compilePieces compiles a library whose function loop has a piece elsewhere.
func compilePieces(t testing.TB, compiler string) string {
	t.Helper()
	return compiled.Program(t, compiled.Sources(t, "testdata/pieces.c"), compiler, "-o", "pieces.so", "pieces.c",
		"-O2", "-freorder-blocks-and-partition", "-shared", "-fPIC", "-nostdlib", "-fno-semantic-interposition", "-Wl,--hash-style=gnu")
}

func TestAFunctionsPiecesAreFoundByTheirJumps(t *testing.T) {
	for compiler, arch := range map[string]callchain.Arch{"gcc": callchain.Host(), "aarch64-linux-gnu-gcc": callchain.ARM64} {
		t.Run(compiler, func(t *testing.T) {
			m := interptest.Module(t, compilePieces(t, compiler))
			s, ok := m.Symbol("loop")
			if !ok {
				t.Fatal("there is no function loop")
			}
			want := []interp.Span{m.Span(s)}
			f, err := elf.NewFile(m.Image.Reader)
			if err != nil {
				t.Fatal(err)
			}
			symbols, err := f.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			for _, cold := range symbols {
				if strings.HasPrefix(cold.Name, "loop.cold") {
					want = append(want, m.Span(interp.Symbol{Addr: cold.Value, Size: cold.Size}))
				}
			}
			if got := m.Pieces(s, arch); len(want) != 2 || !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// FuzzPieces looks for pieces in damaged files.
func FuzzPieces(f *testing.F) {
	fuzzing.Bound(f)
	seed, err := os.ReadFile(compilePieces(f, "gcc"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, true)
	f.Add(seed, false)
	f.Fuzz(func(t *testing.T, b []byte, arm bool) {
		image, err := elfimage.New(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		m := &interp.Module{Image: image}
		s, ok := m.Symbol("loop")
		if !ok {
			return
		}
		arch := callchain.AMD64
		if arm {
			arch = callchain.ARM64
		}
		if pieces := m.Pieces(s, arch); len(pieces) > 8 {
			t.Errorf("%d pieces", len(pieces))
		}
	})
}

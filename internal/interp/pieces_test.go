package interp_test

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/compiled"
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/interp/interptest"
)

func TestAFunctionsPiecesAreFoundByTheirJumps(t *testing.T) {
	for compiler, arch := range map[string]callchain.Arch{"gcc": callchain.Host(), "aarch64-linux-gnu-gcc": callchain.ARM64} {
		t.Run(compiler, func(t *testing.T) {
			path := compiled.Program(t, compiled.Sources(t, "testdata/pieces.c"), compiler, "-o", "pieces.so", "pieces.c",
				"-O2", "-freorder-blocks-and-partition", "-shared", "-fPIC", "-nostdlib", "-fno-semantic-interposition", "-Wl,--hash-style=gnu")
			m := interptest.Module(t, path)
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

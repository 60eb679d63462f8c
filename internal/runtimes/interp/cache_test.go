package interp

import (
	"bytes"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// What was found in a file is there for the next process, at its own addresses, and the code is not
// decoded again. A file without a build id is searched anew.
func TestWhatIsFoundInAFileIsKeptForTheNextProcess(t *testing.T) {
	for name, tt := range map[string]struct {
		flag string
		kept bool
	}{"a build id": {"-Wl,--build-id", true}, "no build id": {"-Wl,--build-id=none", false}} {
		t.Run(name, func(t *testing.T) {
			file, err := os.ReadFile(compiled.Program(t, compiled.Sources(t, "testdata/pieces.c"), "gcc", "-o", "pieces.so", "pieces.c",
				"-O2", "-freorder-blocks-and-partition", "-shared", "-fPIC", "-nostdlib", "-fno-semantic-interposition", "-Wl,--hash-style=gnu", tt.flag))
			if err != nil {
				t.Fatal(err)
			}
			var cache Cache
			var first []Span
			for i, bias := range []uint64{0x10000, 0x7f0000000000} {
				code := &countedReader{r: bytes.NewReader(file)}
				image, err := elfimage.New(code, int64(len(file)))
				if err != nil {
					t.Fatal(err)
				}
				m := &Module{Image: image, Bias: bias, cache: &cache}
				loop, ok := m.Symbol("loop")
				if !ok || loop.Addr < bias {
					t.Fatalf("loop is at %+v, %v", loop, ok)
				}
				_ = m.Pieces(Symbol{Addr: loop.Addr}, callchain.AMD64) // an empty function is not that one
				code.reads = 0
				pieces := m.Pieces(loop, callchain.AMD64)
				if i == 0 {
					first = pieces
				}
				if len(pieces) != 2 || !slices.Equal(pieces, first) {
					t.Errorf("pieces %v, want %v", pieces, first)
				}
				if isRead := code.reads > 0; isRead != (i == 0 || !tt.kept) {
					t.Errorf("process %d: the code is read: %v", i, isRead)
				}
			}
		})
	}
}

// countedReader counts the calls of ReadAt.
type countedReader struct {
	r     io.ReaderAt
	reads int
}

func (c *countedReader) ReadAt(b []byte, off int64) (int, error) {
	c.reads++
	return c.r.ReadAt(b, off)
}

package gotable

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

func TestOfALargeTableOnlySomePagesAreKept(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 3*maxWhole+123)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	d := &data{image: &elfimage.Image{Reader: bytes.NewReader(b), Size: int64(len(b))}, size: uint64(len(b))}
	const step = 1000
	for off := 0; off < len(b); off += step {
		want := b[off:min(off+step, len(b))]
		if got := d.upTo(uint64(off), step); !bytes.Equal(got, want) {
			t.Fatalf("at %d: %d bytes, want %d", off, len(got), len(want))
		}
		if len(d.pages) > keptPages || d.whole.Load() != nil {
			t.Fatalf("%d pages are kept of a table of %d bytes", len(d.pages), len(b))
		}
	}
}

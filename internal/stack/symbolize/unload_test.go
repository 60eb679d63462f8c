package symbolize_test

import (
	"io"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
)

// reads counts how often a file is read.
type reads struct {
	io.ReaderAt
	count int
}

func (r *reads) ReadAt(p []byte, offset int64) (int, error) {
	r.count++
	return r.ReaderAt.ReadAt(p, offset)
}

// A long run meets ever more files: of those that are not sampled any more the names
// stay, and the symbols go until they are wanted again.
func TestSymbolsOfManyFilesAreUnloaded(t *testing.T) {
	const files = 40
	s := symbolizer(t, symbolize.Options{})
	images := make([]*stack.Image, files)
	read := make([]*reads, files)
	for i := range images {
		images[i] = fileImage(t, tinyELF)
		read[i] = &reads{ReaderAt: images[i].Code}
		images[i].Code, images[i].Size = read[i], 64<<20 // as long as a large program
	}
	name := func(i int, offset uint64) string {
		p := s.Profile(set(images, []callchain.Frame{{Object: callchain.ObjectID(i + 1), Offset: offset}}), nil)
		return names(p, 0)[0]
	}
	for i := range images {
		if got := name(i, tinyF+3); got != "f" {
			t.Fatalf("file %d: %q", i, got)
		}
	}
	for _, test := range []struct {
		what   string
		file   int
		offset uint64
		want   string
		read   bool
	}{
		{"a known place of an old file", 0, tinyF + 3, "f", false},
		{"a new place of an old file", 0, tinyStart + 8, "_start", true},
		{"a new place of the last file", files - 1, tinyStart + 8, "_start", true},
		{"the same place again", files - 1, tinyStart + 8, "_start", false},
	} {
		before := read[test.file].count
		if got := name(test.file, test.offset); got != test.want || (read[test.file].count > before) != test.read {
			t.Errorf("%s is %q after %d reads", test.what, got, read[test.file].count-before)
		}
	}
}

package read

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/output"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// Each target reads bytes as one form, whatever Profile would take them for.

func FuzzFolded(f *testing.F) {
	fuzzing.Bound(f)
	f.Add("a;[truncated];b;c_[i];[unknown] (x);k_[k] 12\n# comment\n[pid 3] 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		form := newFolded()
		for line := range strings.Lines(text) {
			if form.line([]byte(strings.TrimSuffix(line, "\n"))) != nil {
				return
			}
		}
		p, err := form.finish()
		if err != nil {
			return
		}
		checkIndexes(t, p)
		// What ringtap writes is read as it was. A process's name may look like another form.
		written := foldedText(t, p, "")
		first, _, _ := strings.Cut(written, "\n")
		if _, isHead := parseHead([]byte(first)); written == "" || isHead || startsJSON([]byte(first)) || strings.Contains("\n"+written, "\n# ") {
			return
		}
		if again := foldedText(t, read(t, []byte(written)), ""); again != written {
			t.Errorf("%q is written, %q is read", written, again)
		}
	})
}

func FuzzPerfScript(f *testing.F) {
	fuzzing.Bound(f)
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		f.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		form := newScript()
		for line := range strings.Lines(text) {
			if form.line([]byte(strings.TrimSuffix(line, "\n"))) != nil {
				return
			}
		}
		if p, err := form.finish(); err == nil {
			checkIndexes(t, p)
		}
	})
}

func FuzzPprof(f *testing.F) {
	fuzzing.Bound(f)
	var plain bytes.Buffer
	z, err := gzip.NewReader(bytes.NewReader(write(f, written(), ".pb.gz", output.FileOptions{})))
	if err != nil {
		f.Fatal(err)
	}
	if _, err := plain.ReadFrom(z); err != nil {
		f.Fatal(err)
	}
	f.Add(plain.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := readPprof("p", bytes.NewReader(data)); err == nil {
			checkIndexes(t, p)
		}
	})
}

func FuzzJSON(f *testing.F) {
	fuzzing.Bound(f)
	f.Add(write(f, written(), ".json", output.FileOptions{}))
	f.Add([]byte(smallJSON("", "")))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := Profile("p", bytes.NewReader(append([]byte("{"), text[min(1, len(text)):]...))); err == nil {
			checkIndexes(t, p)
		}
	})
}

// FuzzProfile reads files as they come.
func FuzzProfile(f *testing.F) {
	fuzzing.Bound(f)
	for _, start := range []string{"PERFILE2", "\x1f\x8b\x08\x00", "a;b 1\n", "a 1 1.000: e:\n", "{}", "\x0a\x04\x08\x01\x10\x02", "# x\n"} {
		f.Add([]byte(start))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := Profile("p", bytes.NewReader(text)); err == nil {
			checkIndexes(t, p)
		}
	})
}

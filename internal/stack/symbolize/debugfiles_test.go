package symbolize_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/symbols"
)

// No other machine has a debug file for this program, so that the one that is found can only
// come from the given root.
func TestDebugFilesComeFromWhereTheOptionsSay(t *testing.T) {
	dir := compiled.Recipe{Sources: map[string]string{"program.c": inlineSource}, Commands: [][]string{
		{"gcc", "-O1", "-Wl,--build-id=sha1", "-o", "program", "program.c"},
		{"objcopy", "--only-keep-debug", "program", "debug"},
		{"strip", "-o", "stripped", "program"},
	}}.Dir(t)
	at := offsetOf(t, filepath.Join(dir, "program"), "outer")
	stripped := set([]*stack.Image{fileImage(t, filepath.Join(dir, "stripped"))}, []callchain.Frame{{Object: 1, Offset: at}})

	p := symbolizer(t, symbolize.Options{}).Profile(stripped, nil)
	if f := p.Frames[0]; !f.Unnamed {
		t.Fatalf("%s has a name without its debug file", f.Name)
	}
	root, id := t.TempDir(), p.Objects[1].BuildID
	folder := filepath.Join(root, "usr/lib/debug/.build-id", id[:2])
	debug, err := os.ReadFile(filepath.Join(dir, "debug"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, id[2:]+".debug"), debug, 0o644); err != nil {
		t.Fatal(err)
	}
	p = symbolizer(t, symbolize.Options{DebugFiles: symbols.DebugFiles(root)}).Profile(stripped, nil)
	if f := p.Frames[0]; f.Name != "outer" {
		t.Errorf("the function is %q", f.Name)
	}
}

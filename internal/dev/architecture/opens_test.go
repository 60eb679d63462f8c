package architecture

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// opensRings lists the packages that may open rings: the engine, facility, which tries what
// this kernel can do, and near, whose rings are read by a second process.
var opensRings = []string{"internal/engine", "internal/cli/facility", "internal/readmem/helper"}

func TestOnlyTheEngineOpensRings(t *testing.T) {
	const root = "../../.."
	seen := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("perfevent.Open(")) {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		seen[dir] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range opensRings {
		if !seen[dir] {
			t.Errorf("%s opens no rings", dir)
		}
		delete(seen, dir)
	}
	for dir := range seen {
		t.Errorf("%s opens rings: a sink of internal/engine has their records", dir)
	}
}

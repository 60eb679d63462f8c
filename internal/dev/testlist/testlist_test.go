package testlist

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

func TestPackagesAreThoseThatHaveATestOfTheName(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module sample\n\ngo 1.24\n",
		"a/a_test.go":    "package a\n\nimport \"testing\"\n\nfunc TestLiveKernel(t *testing.T) {}\n",
		"b/b_test.go":    "package b\n\nimport \"testing\"\n\nfunc TestPlain(t *testing.T) {}\n\ntype T struct{}\n\nfunc (T) TestLiveNot() {}\n",
		"c/c_test.go":    "package c_test\n\nimport \"testing\"\n\nfunc TestLiveOutside(t *testing.T) {}\nfunc TestMain(m *testing.M) {}\n",
		"d/d.go":         "package d\n\nfunc TestLiveNoTest() {}\n",
		"e/e_test.go":    "package e\n\nfunc ExampleTestLive() {}\n",
		"e/other_test.s": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Packages(context.Background(), dir, []string{"./..."}, regexp.MustCompile("^TestLive"))
	if err != nil || len(found) != 2 || found[0].ImportPath != "sample/a" || found[1].ImportPath != "sample/c" || found[0].Dir != filepath.Join(dir, "a") ||
		!slices.Equal(found[0].Tests, []string{"TestLiveKernel"}) || !slices.Equal(found[1].Tests, []string{"TestLiveOutside"}) {
		t.Errorf("found %+v, %v", found, err)
	}
}

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSourcesAreReadInBothForms(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"sources.list": "# deb http://a/ bookworm main\n" +
			"deb [arch=amd64 signed-by=/k.gpg] http://b/debian bookworm main contrib # all\n" +
			"deb-src http://b/debian bookworm main\ndeb http://b/short\n",
		"sources.list.d/c.list":    "deb https://c/other stable main\n",
		"sources.list.d/d.sources": "Types: deb deb-src\n# URIs: http://no/\nURIs: http://d/debian http://e/debian\nSuites: trixie trixie-updates\nComponents: main\nSigned-By: /d.gpg\n\nTypes: deb-src\nURIs: http://f/\nSuites: sid\n",
		"sources.list.d/e.save":    "deb http://g/ sid main\n",
	} {
		path := filepath.Join(root, "etc/apt", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := mirrors(root)
	want := []source{
		{"http://b/debian", "bookworm", "/k.gpg"}, {"https://c/other", "stable", ""},
		{"http://d/debian", "trixie", "/d.gpg"}, {"http://d/debian", "trixie-updates", "/d.gpg"},
		{"http://e/debian", "trixie", "/d.gpg"}, {"http://e/debian", "trixie-updates", "/d.gpg"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("mirrors = %v, %v\nwant %v", got, err, want)
	}
}

func TestASuiteComesFromTheArchiveOfItsKind(t *testing.T) {
	sources := []source{
		{"http://other/", "nodistro", ""}, {"http://d/debian-security", "bookworm-security", "/k"}, {"http://d/debian", "bookworm-updates", "/k"},
	}
	for suite, want := range map[string]string{
		"bookworm": "http://d/debian", "bullseye-security": "http://d/debian-security", "trixie-backports": "http://d/debian",
	} {
		if got, err := mirrorFor(sources, suite); err != nil || got != (source{want, suite, "/k"}) {
			t.Errorf("%s: %v, %v", suite, got, err)
		}
	}
	if got, err := mirrorFor(sources[:1], "bookworm"); err == nil {
		t.Errorf("of a machine without a mirror: %v", got)
	}
}

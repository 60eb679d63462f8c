package proc

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReleasesAreComparedByNumber(t *testing.T) {
	for _, test := range []struct {
		text         string
		major, minor int
		want         bool
	}{
		{"6.1.0-50-cloud-amd64\n", 6, 1, true},
		{"6.1.0\n", 6, 11, false},
		{"6.12+\n", 6, 11, true},
		{"5.19.1\n", 6, 0, false},
		{"7.0-rc1\n", 6, 11, true},
	} {
		r, err := parseRelease(test.text)
		if err != nil || r.Since(test.major, test.minor) != test.want {
			t.Errorf("%q since %d.%d: %t, %v, want %t", test.text, test.major, test.minor, r.Since(test.major, test.minor), err, test.want)
		}
	}
}

func TestAReleaseThatIsNoVersionIsAnError(t *testing.T) {
	fs := FS(t.TempDir())
	if r, err := fs.Release(); !os.IsNotExist(err) {
		t.Errorf("without a file: %v, %v", r, err)
	}
	name := fs.Name("sys/kernel/osrelease")
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "?\n", "6\n", "linux-6.1\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if r, err := fs.Release(); err == nil || r != (Release{}) {
			t.Errorf("%q: %v, %v, want an error", text, r, err)
		}
	}
}

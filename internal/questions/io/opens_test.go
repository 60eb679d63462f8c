package io

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
)

func TestALookedUpDescriptorIsTheFileThatWasOpened(t *testing.T) {
	tests := []struct {
		link, path string
		want       bool
	}{
		{"/tmp/a", "/tmp/a", true},
		{"/tmp/a (deleted)", "/tmp/a", true},
		{"/usr/lib/libc.so.6", "/lib/libc.so.6", true},
		{"/home/me", ".", true},
		{"/tmp/b", "", true}, // nothing is known
		{"/tmp/b", "/tmp/a", false},
		{"pipe", "/tmp/a", false},
	}
	for _, tt := range tests {
		if got := isFile(tt.link, tt.path); got != tt.want {
			t.Errorf("isFile(%q, %q) = %v", tt.link, tt.path, got)
		}
	}
}

func TestPathsBeginWhereTheirCallsDid(t *testing.T) {
	proc := t.TempDir()
	if err := os.Mkdir(filepath.Join(proc, "7"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/home/me", filepath.Join(proc, "7", "cwd")); err != nil {
		t.Fatal(err)
	}
	d := newDescriptors(process.Host{Proc: proc}, ByFile)
	d.set(7, 3, descriptor{word: "/srv", looked: true})
	d.set(7, 4, descriptor{word: "/run", late: true})
	tests := []struct {
		pid  uint32
		open opened
		want string
	}{
		{7, opened{dir: unix.AT_FDCWD, path: "/tmp/a"}, "/tmp/a"},
		{7, opened{dir: unix.AT_FDCWD, path: "/tmp/a", late: true}, "/tmp/a"},
		{7, opened{dir: unix.AT_FDCWD, path: "a"}, "/home/me/a"},
		{7, opened{dir: unix.AT_FDCWD, path: "../a", late: true}, "/home/a"},
		{7, opened{dir: 3, path: "a"}, "/srv/a"},
		{7, opened{dir: 4, path: "a"}, "/run/a"},
		{7, opened{dir: 5, path: "a"}, "a"},
		{8, opened{dir: unix.AT_FDCWD, path: "a"}, "a"}, // it has ended
	}
	read := &ioCalled{in: 0, out: -1}
	args := make([]byte, 8)
	args[0] = 9
	for _, tt := range tests {
		d.opened(tt.pid, 9, tt.open)
		if got := d.label(tt.pid, read, args); got != "["+tt.want+"]" {
			t.Errorf("%+v of %d is %s, want [%s]", tt.open, tt.pid, got, tt.want)
		}
	}
	if d.late != 3 || len(d.notes()) != 1 {
		t.Errorf("%d paths were read later, want 3: %q", d.late, d.notes())
	}
}

func TestWhatStandsWhereAPathWasIsNoText(t *testing.T) {
	for text, want := range map[string]bool{"/tmp/ä b": true, "/dev/nulP\x92\x01": false, "/tmp/\xe5\x8f": false, "a\nb": false} {
		if got := isText([]byte(text)); got != want {
			t.Errorf("isText(%q) = %v", text, got)
		}
	}
}

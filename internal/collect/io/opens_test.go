package io

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
)

func TestALookedUpDescriptorIsTheFileThatWasOpened(t *testing.T) {
	opened := func(path string) descriptor { return descriptor{word: path, path: path} }
	tests := []struct {
		word  string
		known descriptor
		want  bool
	}{
		{"/tmp/a", opened("/tmp/a"), true},
		{"/tmp/a (deleted)", opened("/tmp/a"), true},
		{"/usr/lib/libc.so.6", opened("/lib/libc.so.6"), true},
		{"/home/me", opened("."), true},
		{"/tmp/b", opened("/tmp/a"), false},
		{"pipe", opened("/tmp/a"), false},
		{"/tmp/b", descriptor{}, true}, // nothing is known
		{"/tmp/b", descriptor{word: "file"}, true},
		{"socket", descriptor{word: "socket"}, true},
		{"/tmp/b", descriptor{word: "socket"}, false},
	}
	for _, tt := range tests {
		if got := tt.known.isStill(tt.word); got != tt.want {
			t.Errorf("%+v is still %q: %v", tt.known, tt.word, got)
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
		if got, _ := d.label(tt.pid, read, args); got != "["+tt.want+"]" {
			t.Errorf("%+v of %d is %s, want [%s]", tt.open, tt.pid, got, tt.want)
		}
	}
	if late := d.late.take(true); late != 3 || len(d.notes(true)) != 1 {
		t.Errorf("%d paths were read later, want 3: %q", late, d.notes(true))
	}
}

func TestWhatStandsWhereAPathWasIsNoText(t *testing.T) {
	for text, want := range map[string]bool{"/tmp/ä b": true, "/dev/nulP\x92\x01": false, "/tmp/\xe5\x8f": false, "a\nb": false} {
		if got := isText([]byte(text)); got != want {
			t.Errorf("isText(%q) = %v", text, got)
		}
	}
}

package openfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// hostileRoot is a container's root directory whose owner wants to read the
// host's file "secret" through us, which lies beside it, or to hold us up.
func hostileRoot(t *testing.T) (root string) {
	t.Helper()
	host := t.TempDir()
	root = filepath.Join(host, "root")
	must(t, os.MkdirAll(filepath.Join(root, "lib/real"), 0o755))
	must(t, os.WriteFile(filepath.Join(host, "secret"), []byte("host"), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "lib/real/libc.so"), []byte("container"), 0o644))
	must(t, unix.Mkfifo(filepath.Join(root, "lib/fifo"), 0o644))
	for link, target := range map[string]string{
		"lib/absolute": "/lib/real", // the container's own, though it looks like the host's
		"lib/up":       "../../../../../../../../../../../../" + host,
		"lib/host":     host,
		"lib/itself":   "itself",
		"lib/last":     "real/libc.so",
		"lib/around":   "/lib/absolute/libc.so",
		"lib/outside":  host + "/secret",
		"lib/magic":    "/proc/self/root",
	} {
		must(t, os.Symlink(target, filepath.Join(root, link)))
	}
	must(t, os.MkdirAll(filepath.Join(root, "proc"), 0o755))
	return root
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNoNameLeadsOutOfAContainersRoot(t *testing.T) {
	root := hostileRoot(t)
	tests := []struct {
		name                        string
		opens, followed, walkedOpen bool // NoLink and Follow with openat2(2), and without
	}{
		{"/lib/real/libc.so", true, true, true},
		{"lib/real/libc.so", true, true, true},
		{"/lib/absolute/libc.so", true, true, false},
		{"/../lib/real/libc.so", true, true, false},
		{"/lib/last", false, true, false},
		{"/lib/around", false, true, false},
		{"/lib/outside", false, false, false},
		{"/lib/up/secret", false, false, false},
		{"/lib/host/secret", false, false, false},
		{"/../secret", false, false, false},
		{"/lib/real/../../../secret", false, false, false},
		{"/lib/magic/etc/passwd", false, false, false},
		{"/lib/itself", false, false, false},
		{"/lib/fifo", false, false, false},
		{"/lib/real", false, false, false},
		{"/lib/none", false, false, false},
		{"/lib/real/libc.so/x", false, false, false},
		{"/", false, false, false},
		{"", false, false, false},
	}
	for _, test := range tests {
		fd, _, err := Beneath(root, test.name, NoLink)
		checkOpen(t, "Beneath", test.name, fd, err, test.opens)
		fd, _, err = Beneath(root, test.name, Follow)
		checkOpen(t, "Beneath following", test.name, fd, err, test.followed)

		dir, err := open(unix.AT_FDCWD, root, unix.O_PATH|unix.O_DIRECTORY)
		must(t, err)
		handle, err := walk(dir, test.name)
		fd = -1
		if err == nil {
			fd, _, err = openHandle(handle)
		}
		checkOpen(t, "walk", test.name, fd, err, test.walkedOpen)
		unix.Close(dir)
	}
}

func checkOpen(t *testing.T, how, name string, fd int, err error, opens bool) {
	t.Helper()
	if (err == nil) != opens {
		t.Errorf("%s %q: %v; want success %t", how, name, err, opens)
	}
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var text [16]byte
	if n, _ := unix.Pread(fd, text[:], 0); string(text[:n]) != "container" {
		t.Errorf("%s %q reads %q", how, name, text[:n])
	}
}

func TestADeviceIsNotOpened(t *testing.T) {
	if _, _, err := Beneath("/dev", "/null", NoLink); !errors.Is(err, ErrNotRegular) {
		t.Errorf("Beneath /dev/null = %v; want not regular", err)
	}
	if _, _, err := Regular("/dev/null"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("Regular /dev/null = %v; want not regular", err)
	}
}

func TestAMagicLinkOfAMountedProcIsNotFollowed(t *testing.T) {
	for _, name := range []string{"/proc/self/exe", "/proc/self/root/etc/passwd"} {
		if fd, _, err := Beneath("/", name, Follow); !errors.Is(err, unix.ELOOP) {
			t.Errorf("Beneath / %s = %d, %v; want ELOOP", name, fd, err)
		}
	}
}

package process

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
		name            string
		opens, walkOpen bool // with openat2(2), and without
	}{
		{"/lib/real/libc.so", true, true},
		{"lib/real/libc.so", true, true},
		{"/lib/absolute/libc.so", true, false},
		{"/../lib/real/libc.so", true, false},
		{"/lib/up/secret", false, false},
		{"/lib/host/secret", false, false},
		{"/../secret", false, false},
		{"/lib/real/../../../secret", false, false},
		{"/lib/itself", false, false},
		{"/lib/last", false, false},
		{"/lib/fifo", false, false},
		{"/lib/real", false, false},
		{"/lib/none", false, false},
		{"/lib/real/libc.so/x", false, false},
		{"/", false, false},
		{"", false, false},
	}
	for _, test := range tests {
		fd, _, err := openBeneath(root, test.name)
		checkOpen(t, "openBeneath", test.name, fd, err, test.opens)

		dir, err := open(unix.AT_FDCWD, root, unix.O_PATH|unix.O_DIRECTORY)
		must(t, err)
		handle, err := walkBeneath(dir, test.name)
		fd = -1
		if err == nil {
			fd, _, err = openHandle(handle)
		}
		checkOpen(t, "walkBeneath", test.name, fd, err, test.walkOpen)
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
	if _, _, err := openBeneath("/dev", "/null"); !errors.Is(err, errNotRegular) {
		t.Errorf("openBeneath /dev/null = %v; want not regular", err)
	}
	if _, _, err := openRegular("/dev/null"); !errors.Is(err, errNotRegular) {
		t.Errorf("openRegular /dev/null = %v; want not regular", err)
	}
}

func TestIdentityIsInodeAndDevice(t *testing.T) {
	fd, st, err := openRegular("open_test.go")
	must(t, err)
	defer unix.Close(fd)
	id := idOf(&st)
	if err := checkIdentity(fd, &st, id); err != nil {
		t.Errorf("the file itself: %v", err)
	}
	other := id
	other.inode++
	if err := checkIdentity(fd, &st, other); !errors.Is(err, errReplaced) {
		t.Errorf("another inode: %v; want replaced", err)
	}
	other = id
	other.minor++
	if ownNumbers(fd) {
		t.Skip("a file system with one device: the source lies on btrfs or overlayfs")
	}
	if err := checkIdentity(fd, &st, other); !errors.Is(err, errReplaced) {
		t.Errorf("another device: %v; want replaced", err)
	}
}

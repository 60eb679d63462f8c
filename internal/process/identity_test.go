package process

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/openfile"
)

func TestIdentityIsInodeAndDevice(t *testing.T) {
	fd, st, err := openfile.Regular("identity_test.go")
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

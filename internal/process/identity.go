package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/object/buildid"
)

// errReplaced is returned when a name leads to another file than before.
var errReplaced = errors.New("another file has this name now")

// errNoIdentity is returned when only the name of a mapped file is known. A name is not enough
// to identify it.
var errNoIdentity = errors.New("its inode is not known")

// check returns nil if an open file is the mapped one.
func (s *seenMapping) check(fd int, st *unix.Stat_t) error {
	switch {
	case len(s.build) > 0:
		return checkBuildID(fd, st.Size, s.build)
	case s.id.inode == 0:
		return errNoIdentity
	}
	return checkIdentity(fd, st, s.id)
}

// numberers are file systems where the device of the kernel's mapping differs from stat(2)'s
// for the same file. btrfs and bcachefs have one device per subvolume; overlayfs passes on the
// device of the layer below. The inode is the same.
var numberers = [...]int64{
	0x9123683e, // BTRFS_SUPER_MAGIC
	0x794c7630, // OVERLAYFS_SUPER_MAGIC
	0xca451a4e, // BCACHEFS_STATFS_MAGIC
}

// ownNumbers reports whether an open file is on such a file system.
func ownNumbers(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && slices.Contains(numberers[:], int64(fs.Type))
}

// checkIdentity returns nil if an open file is the wanted one.
func checkIdentity(fd int, st *unix.Stat_t, want fileID) error {
	got := idOf(st)
	switch {
	case got == want:
		return nil
	case got.inode != want.inode:
		return errReplaced
	case ownNumbers(fd):
		return nil
	}
	return fmt.Errorf("%w: same inode on device %d:%d, not %d:%d",
		errReplaced, got.major, got.minor, want.major, want.minor)
}

// checkBuildID returns nil if an ELF file has the wanted build id.
func checkBuildID(fd int, size int64, want []byte) error {
	id, err := buildid.Of(preader(fd), size)
	switch {
	case errors.Is(err, buildid.ErrNone):
		return fmt.Errorf("%w: %w", errReplaced, err)
	case err != nil:
		return err
	case !bytes.Equal(id, want):
		return fmt.Errorf("%w: build id %x, not %x", errReplaced, id, want)
	}
	return nil
}

// preader reads from a descriptor without owning it.
type preader int

func (fd preader) ReadAt(p []byte, offset int64) (int, error) {
	n, err := unix.Pread(int(fd), p, offset)
	switch {
	case err != nil:
		return 0, os.NewSyscallError("pread", err)
	case n < len(p):
		return n, io.EOF
	}
	return n, nil
}

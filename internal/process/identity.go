package process

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/elfimage"
)

// errReplaced says that a name leads to another file than it did.
var errReplaced = errors.New("another file has this name now")

// errNoIdentity says that nothing but a name is known of a mapped file, which
// is not enough to tell it from another.
var errNoIdentity = errors.New("its inode is not known")

// check tells whether an open file is the one of the mapping.
func (s *seenMapping) check(fd int, st *unix.Stat_t) error {
	switch {
	case len(s.build) > 0:
		return checkBuildID(fd, st.Size, s.build)
	case s.id.inode == 0:
		return errNoIdentity
	}
	return checkIdentity(fd, st, s.id)
}

// numberers are file systems where the device that the kernel's mapping names is
// not the one that stat(2) tells of the same file: btrfs has one device for each
// subvolume, overlayfs passes on the device of the layer below, bcachefs is as
// btrfs. The inode is the same.
var numberers = [...]int64{
	0x9123683e, // BTRFS_SUPER_MAGIC
	0x794c7630, // OVERLAYFS_SUPER_MAGIC
	0xca451a4e, // BCACHEFS_STATFS_MAGIC
}

// ownNumbers tells whether an open file is on such a file system.
func ownNumbers(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && slices.Contains(numberers[:], int64(fs.Type))
}

// checkIdentity tells whether an open file is the wanted one.
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

// maxNotes bounds the notes of a file that a build id is looked for in.
const maxNotes = 64 << 10

// checkBuildID tells whether an ELF file has a build id.
func checkBuildID(fd int, size int64, want []byte) error {
	image, err := elfimage.New(preader(fd), size)
	if err != nil {
		return err
	}
	for _, segment := range image.Segments {
		if segment.Type != elf.PT_NOTE {
			continue
		}
		notes, err := image.Read(segment.Off, segment.Filesz, maxNotes)
		if err != nil {
			continue
		}
		if id := findBuildID(notes, image.Order); id != nil {
			if bytes.Equal(id, want) {
				return nil
			}
			return fmt.Errorf("%w: build id %x, not %x", errReplaced, id, want)
		}
	}
	return fmt.Errorf("%w: no build id", errReplaced)
}

// findBuildID returns the descriptor of the note NT_GNU_BUILD_ID (elf(5)): a
// note is three words, the lengths of its name and descriptor and its type,
// and these two, each padded to a word.
func findBuildID(notes []byte, order binary.ByteOrder) []byte {
	const buildID = 3
	for len(notes) >= 12 {
		name := uint64(order.Uint32(notes))
		size := uint64(order.Uint32(notes[4:]))
		kind := order.Uint32(notes[8:])
		notes = notes[12:]
		begin := (name + 3) &^ 3
		end := begin + size
		if end > uint64(len(notes)) {
			return nil
		}
		if kind == buildID && string(notes[:name]) == "GNU\x00" {
			return notes[begin:end]
		}
		notes = notes[min((end+3)&^3, uint64(len(notes))):]
	}
	return nil
}

// preader reads a descriptor that stays its owner's.
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

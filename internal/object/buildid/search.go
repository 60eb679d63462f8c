package buildid

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/openfile"
)

// spellings returns the forms in which names of files may have a build id. The first is its
// hexadecimal digits. The others have zeros at the end, which are missing if the build id was
// recorded without its size (see Equal).
func spellings(id []byte) []string {
	if len(id) < 2 {
		return nil
	}
	text := hex.EncodeToString(id)
	all := []string{text}
	for _, usual := range []int{16, 20} {
		if missing := usual - len(id); missing > 0 {
			all = append(all, text+strings.Repeat("00", missing))
		}
	}
	return all
}

// buildIDDir returns the name of a build id's directory in perf's cache and below /usr/lib/debug.
func buildIDDir(text string) string { return ".build-id/" + text[:2] + "/" + text[2:] }

// search is a list of places where a file may be.
type search struct {
	places []place
	text   bool // the files are no ELF files, so the first one is taken
}

type place struct {
	root string // if not empty, links in path cannot lead out of it
	path string
}

// in adds files of a directory, unless it is "".
func (s *search) in(dir string, names ...string) {
	for _, name := range names {
		if dir != "" {
			s.places = append(s.places, place{path: filepath.Join(dir, name)})
		}
	}
}

// beneath is like in for another machine's root directory.
func (s *search) beneath(root string, names ...string) {
	for _, name := range names {
		if root != "" {
			s.places = append(s.places, place{root, name})
		}
	}
}

// open opens the first file that has the build id.
func (s *search) open(want []byte) (*os.File, error) {
	if len(want) == 0 {
		return nil, ErrUnknown
	}
	var others []string
	for _, p := range s.places {
		f, size, err := p.open()
		var id []byte
		if err == nil && !s.text {
			id, err = Of(f, size)
		}
		switch {
		case err == nil && (s.text || Equal(id, want)):
			return f, nil
		case err == nil:
			others = append(others, fmt.Sprintf("%s has build id %x", p, id))
		case !absent(err):
			others = append(others, fmt.Sprintf("%s: %v", p, err))
		}
		if f != nil {
			f.Close()
		}
	}
	slices.Sort(others)
	return nil, &NotFoundError{want, slices.Compact(others)}
}

// String returns the name for messages.
func (p place) String() string { return filepath.Join(p.root, p.path) }

// open opens a regular file. A directory counts as absent, because perf's cache has directories with
// the names that its files had before Linux 4.8.
func (p place) open() (f *os.File, size int64, err error) {
	var fd int
	var st unix.Stat_t
	if p.root != "" {
		fd, st, err = openfile.Beneath(p.root, p.path, openfile.Follow)
	} else {
		fd, st, err = openfile.Regular(p.path)
	}
	switch {
	case err == nil:
		return os.NewFile(uintptr(fd), p.String()), st.Size, nil
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return nil, 0, fs.ErrNotExist
	}
	return nil, 0, err
}

// absent reports whether an error means that there is no such file.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) }

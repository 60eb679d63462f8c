package symbols

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strings"

	"github.com/ringtap/ringtap/internal/object/buildid"
	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// debugRoot is where distributions install debug files (GDB's manual,
// "Separate Debug Files").
const debugRoot = "/usr/lib/debug"

// maxSeparate is the size of the largest separate debug file whose checksum is
// computed.
const maxSeparate = 4 << 30

// ReaderAtCloser is an open file.
type ReaderAtCloser interface {
	io.ReaderAt
	io.Closer
}

// Options says where to find debug information that is not in the file itself. With the zero
// value, no other file is read.
type Options struct {
	// Path is the file's absolute path as its process sees it. The debug link is resolved
	// relative to its directory. If it is "", only the build id is used.
	Path string
	// Open opens an absolute path, as the process sees it, and returns the file and its size in
	// bytes. It must not leave the root of the process's container. An error means that there
	// is no such file. The File closes the files it opened. DebugFiles returns an Open function
	// that fits most callers.
	Open func(path string) (ReaderAtCloser, int64, error)
	// Unpack limits the memory for unpacking one .gnu_debugdata section, in bytes: packed and
	// unpacked data plus the dictionary. If a section needs more, Load's error wraps
	// ErrSkipped. 0 means only the package's own limits.
	Unpack int
}

var errOtherBuild = errors.New("belongs to another build")

type separate struct {
	image *elfimage.Image
	file  ReaderAtCloser
}

// openSeparate finds the debug file of m: first by build id, then by the debug link in the
// file's directory, in .debug below it, and below debugRoot. It returns nil if there is none.
// The error lists files that were found but do not fit.
func openSeparate(m *elfimage.Image, opts Options) (*separate, error) {
	if opts.Open == nil {
		return nil, nil
	}
	id := buildid.OfImage(m)
	name, sum, linked := debugLink(m)
	var paths []string
	if len(id) > 1 {
		text := hex.EncodeToString(id)
		paths = append(paths, path.Join(debugRoot, ".build-id", text[:2], text[2:]+".debug"))
	}
	if linked && path.IsAbs(opts.Path) {
		dir := path.Dir(opts.Path)
		for _, p := range []string{path.Join(dir, name), path.Join(dir, ".debug", name), path.Join(debugRoot, dir, name)} {
			if p != opts.Path {
				paths = append(paths, p)
			}
		}
	}
	var errs []error
	for _, p := range paths {
		file, size, err := opts.Open(p)
		if err != nil {
			continue
		}
		debug, err := elfimage.New(file, size)
		if err == nil {
			err = belongs(debug, id, linked, sum)
		}
		if err == nil {
			return &separate{debug, file}, errors.Join(errs...)
		}
		errs = append(errs, fmt.Errorf("debug file %s: %w", p, err), file.Close())
	}
	return nil, errors.Join(errs...)
}

// debugLink returns the contents of .gnu_debuglink: the name of a file, and, after padding to
// four bytes, its CRC-32.
func debugLink(m *elfimage.Image) (name string, sum uint32, ok bool) {
	s, ok := m.Section(".gnu_debuglink")
	if !ok {
		return "", 0, false
	}
	b, err := m.Read(s.Offset, s.Size, maxSymbolName)
	if err != nil {
		return "", 0, false
	}
	name = cstring(b, 0, len(b))
	at := (len(name) + 1 + 3) &^ 3
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") || at+4 > len(b) {
		return "", 0, false
	}
	return name, m.Order.Uint32(b[at:]), true
}

// belongs checks whether a debug file belongs to the file. If both have build ids, these are
// compared; a checksum would read the whole file.
func belongs(m *elfimage.Image, id []byte, linked bool, sum uint32) error {
	if own := buildid.OfImage(m); len(id) > 0 && len(own) > 0 {
		if !bytes.Equal(own, id) {
			return errOtherBuild
		}
		return nil
	}
	if !linked {
		return errOtherBuild
	}
	if m.Size > maxSeparate {
		return fmt.Errorf("%d bytes: too large to check", m.Size)
	}
	if err := m.CheckHoles(0, uint64(m.Size)); err != nil {
		return err
	}
	crc := crc32.NewIEEE()
	if _, err := io.Copy(crc, io.NewSectionReader(m.Reader, 0, m.Size)); err != nil {
		return fmt.Errorf("checksum: %w", err)
	}
	if crc.Sum32() != sum {
		return errOtherBuild
	}
	return nil
}

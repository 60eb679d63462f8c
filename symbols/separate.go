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

	"github.com/ringtap/ringtap/internal/elfimage"
)

// debugRoot is where distributions install debug files (GDB's manual,
// "Separate Debug Files").
const debugRoot = "/usr/lib/debug"

// maxSeparate is the size of the largest separate debug file whose checksum is
// computed.
const maxSeparate = 4 << 30

// ReaderAtCloser is an opened file.
type ReaderAtCloser interface {
	io.ReaderAt
	io.Closer
}

// Options says where a File finds debug information that is not in the file
// itself. The zero value looks nowhere else.
type Options struct {
	// Path is the file's own absolute path as its process sees it; a debug
	// link is looked for beside it. Without one only the build id is used.
	Path string
	// Open opens an absolute path, as the process sees it, and returns the
	// file's size in bytes. The caller keeps it inside of a container's root.
	// An error means that there is no such file. The File closes what it
	// opened. DebugFiles makes one that is right for most.
	Open func(path string) (ReaderAtCloser, int64, error)
	// Unpack bounds the bytes that unpacking one section (.gnu_debugdata) may take at
	// its peak: what it is unpacked from and to, and the dictionary. 0: see ErrSkipped.
	Unpack int
}

// errOtherBuild is why a debug file that was found is not used.
var errOtherBuild = errors.New("belongs to another build")

// separate is an opened debug file.
type separate struct {
	image *elfimage.Image
	file  ReaderAtCloser
}

// openSeparate finds the debug file of m: by build id, then by the debug link in
// the file's directory, in .debug below it, and below debugRoot. It returns nil
// when there is none. The error tells of files that were found and are not used.
func openSeparate(m *elfimage.Image, opts Options) (*separate, error) {
	if opts.Open == nil {
		return nil, nil
	}
	id := buildID(m)
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

// debugLink returns what .gnu_debuglink says: the name of a file, and its CRC-32
// after padding to four bytes.
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

// belongs checks a debug file against the file that it was found for. Equal
// build ids say enough; a checksum would read the whole file.
func belongs(m *elfimage.Image, id []byte, linked bool, sum uint32) error {
	if own := buildID(m); len(id) > 0 && len(own) > 0 {
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

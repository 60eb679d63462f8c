package recording

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/host/openfile"
	"github.com/ringtap/ringtap/internal/object/buildid"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/perfevent"
)

// images finds the files that recorded processes had mapped.
type images struct {
	files   buildid.Files
	ids     map[string][]byte // build ids by path; empty if several files had that path
	made    time.Time         // when the recording ended
	missing map[string]error  // by build id and path: files that were not found
}

func newImages(f *perfdata.File, files buildid.Files) *images {
	m := &images{files: files, ids: make(map[string][]byte), made: f.Modified(), missing: make(map[string]error)}
	for i := range f.BuildIDs {
		b := &f.BuildIDs[i]
		if known, twice := m.ids[b.Filename]; twice && !bytes.Equal(known, b.ID) {
			m.ids[b.Filename] = nil
		} else {
			m.ids[b.Filename] = b.ID
		}
	}
	return m
}

// identify adds the build id that the recording has of a mapped file, unless the record has one.
func (m *images) identify(r *perfevent.Mmap) {
	if len(r.BuildID) == 0 {
		r.BuildID = m.ids[string(r.Filename)]
	}
}

// Errors of files without a build id.
var (
	errNoBuildID = errors.New("the recording has no build id of it")
	errChanged   = errors.New("the recording has no build id of it, and the file here is newer than the recording")
)

// open opens a mapped file: see process.Recording. A file without a build id may be the one of the
// same path, unless that is newer than the recording.
func (m *images) open(path string, id []byte) (f *os.File, isSame bool, err error) {
	if len(id) == 0 {
		id = m.ids[path]
	}
	if len(id) > 0 {
		key := string(id) + path
		if err := m.missing[key]; err != nil {
			return nil, false, err
		}
		if f, err = m.files.Image(id, path); err != nil {
			m.missing[key] = err
		}
		return f, true, err
	}
	if !strings.HasPrefix(path, "/") {
		return nil, false, errNoBuildID
	}
	// Not followed by a second look-up of the path: the caller compares the inode of f.
	if f, err = openRegular(path); err != nil {
		return nil, false, fmt.Errorf("%w: %w", errNoBuildID, err)
	}
	if info, err := f.Stat(); err != nil || info.ModTime().After(m.made) {
		return nil, false, errors.Join(errChanged, err, f.Close())
	}
	return f, false, nil
}

// openRegular opens a file that is neither a device nor a pipe.
func openRegular(path string) (*os.File, error) {
	fd, _, err := openfile.Regular(path)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

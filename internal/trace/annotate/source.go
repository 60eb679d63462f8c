package annotate

import (
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/openfile"
)

// maxSource bounds the source files that are read, in bytes.
const maxSource = 16 << 20

// sources reads lines of source files.
type sources struct {
	symfs   string
	made    time.Time // files that changed later are not read
	files   map[string][]string
	changed []string
}

// line returns the text of a line, or "" if the file is not here or has changed.
func (s *sources) line(p Place) string {
	lines, read := s.files[p.File]
	if !read {
		if s.files == nil {
			s.files = make(map[string][]string)
		}
		lines = s.read(p.File)
		s.files[p.File] = lines
	}
	if p.Line < 1 || p.Line > len(lines) {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(lines[p.Line-1], "\t", " "))
}

// read returns the lines of a file below symfs or on this machine.
func (s *sources) read(file string) []string {
	if !strings.HasPrefix(file, "/") {
		return nil // relative to an unknown directory
	}
	fd, st, err := -1, unix.Stat_t{}, error(unix.ENOENT)
	if s.symfs != "" {
		fd, st, err = openfile.Beneath(s.symfs, file, openfile.Follow)
	}
	if err != nil {
		fd, st, err = openfile.Regular(file)
	}
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), file)
	defer f.Close()
	if !s.made.IsZero() && time.Unix(st.Mtim.Unix()).After(s.made) {
		if !slices.Contains(s.changed, file) {
			s.changed = append(s.changed, file)
		}
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSource))
	if err != nil {
		return nil
	}
	return strings.Split(string(text), "\n")
}

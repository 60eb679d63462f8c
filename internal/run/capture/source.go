package capture

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/perfevent"
)

// Source hands on the records of a File. It is a run.Source.
type Source struct {
	*File
	dir   string // has proc, and the files below root
	files map[string]unix.Stat_t
	now   uint64
}

// Source unpacks a file into an empty directory, which stands in for the machine.
func (f *File) Source(dir string) (*Source, error) {
	s := &Source{File: f, dir: dir, files: make(map[string]unix.Stat_t), now: f.Begin}
	root := filepath.Join(dir, "root")
	for path, content := range f.Files {
		unpacked := filepath.Join(root, path)
		if err := write(unpacked, content); err != nil {
			return nil, err
		}
		var st unix.Stat_t
		if err := unix.Stat(unpacked, &st); err != nil {
			return nil, fmt.Errorf("stat %s: %w", unpacked, err)
		}
		s.files[path] = st
	}
	for name, content := range f.Proc {
		if filepath.Base(name) == "maps" {
			content = s.placeMaps(content)
		}
		if err := write(filepath.Join(dir, "proc", name), content); err != nil {
			return nil, err
		}
	}
	for _, pid := range f.Processes {
		if err := os.Symlink(root, filepath.Join(dir, "proc", strconv.Itoa(pid), "root")); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// Host is the machine that was recorded, as far as it was.
func (s *Source) Host() process.Host {
	return process.Host{Proc: filepath.Join(s.dir, "proc"), Clock: s.Now}
}

// Processes are those that were watched.
func (s *Source) Processes() []int { return s.File.Processes }

// Now is the time of the last record.
func (s *Source) Now() uint64 { return s.now }

// Enable does nothing: samples come anyway.
func (s *Source) Enable() error { return nil }

// roundTime is how much recorded time lies between rounds, in nanoseconds.
const roundTime = 200e6

// Read hands on the records, on the caller's goroutine. A reader that has records
// handled before the spool gets them so.
func (s *Source) Read(ctx context.Context, by perfevent.Reader, handle func(perfevent.Record) error) error {
	decoder, err := perfevent.NewDecoder(s.Events)
	if err != nil {
		return err
	}
	round := s.Begin + roundTime
	for record, err := range decoder.Records(s.Records) {
		if err != nil {
			return fmt.Errorf("decode a captured record: %w", err)
		}
		if ctx.Err() != nil {
			break
		}
		s.now = max(s.now, record.Common().Time)
		for ; by.Round != nil && s.now >= round; round += roundTime {
			by.Round(round)
		}
		if mmap, ok := record.(*perfevent.Mmap); ok {
			s.place(mmap)
		}
		if by.Unordered != nil {
			by.Unordered(record)
		}
		if by.BeforeSpool != nil && by.BeforeSpool(record, true) {
			continue
		}
		if err := handle(record); err != nil {
			return err
		}
	}
	s.now = s.End
	if by.Round != nil {
		by.Round(s.End)
	}
	return nil
}

// placeMaps is the text of /proc/PID/maps, with mappings of the files that were unpacked.
func (s *Source) placeMaps(text []byte) []byte {
	var placed []byte
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) == 6 {
			if st, ok := s.files[string(fields[5])]; ok {
				line = fmt.Appendf(nil, "%s %s %s %02x:%02x %d %s\n", fields[0], fields[1], fields[2],
					unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino, fields[5])
			}
		}
		placed = append(placed, line...)
	}
	return placed
}

// place has a mapping be of the file that was unpacked.
func (s *Source) place(mmap *perfevent.Mmap) {
	if st, ok := s.files[string(mmap.Filename)]; ok {
		mmap.Major, mmap.Minor, mmap.Inode, mmap.InodeGeneration = unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino, 0
	}
}

// Account is that of the recording.
func (s *Source) Account() (run.Account, error) { return s.File.Account, nil }

// Close does nothing.
func (s *Source) Close() error { return nil }

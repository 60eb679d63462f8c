package capture

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// Source replays the records of a File. It is an engine.Source.
type Source struct {
	*File
	dir   string // contains proc, and the mapped files in root
	files map[string]unix.Stat_t
	now   uint64
}

// Source unpacks a file into dir, an empty directory that stands in for the machine.
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

// Host returns the recorded machine, which has only the saved files.
func (s *Source) Host() process.Host {
	return process.Host{Proc: filepath.Join(s.dir, "proc"), Clock: s.Now}
}

// Processes returns the PIDs that were watched.
func (s *Source) Processes() []int { return s.File.Processes }

// Now returns the time of the latest record.
func (s *Source) Now() uint64 { return s.now }

// Enable does nothing.
func (s *Source) Enable() error { return nil }

// roundTime is the recorded time between two rounds, in nanoseconds.
const roundTime = 200e6

// Read passes the records to handle, on the caller's goroutine. If reader.BeforeSpool is set, it
// gets each record before handle.
func (s *Source) Read(ctx context.Context, reader perfevent.Reader, handle func(perfevent.Record) error) error {
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
		for ; reader.Round != nil && s.now >= round; round += roundTime {
			reader.Round(round)
		}
		if mmap, ok := record.(*perfevent.Mmap); ok {
			s.place(mmap)
		}
		if reader.Unordered != nil {
			reader.Unordered(record)
		}
		if reader.BeforeSpool != nil && reader.BeforeSpool(record, true) {
			continue
		}
		if err := handle(record); err != nil {
			return err
		}
	}
	s.now = s.End
	if reader.Round != nil {
		reader.Round(s.End)
	}
	return nil
}

// placeMaps returns the text of /proc/PID/maps with the device and inode numbers of the unpacked
// files.
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

// place replaces the file of mmap by the unpacked file of the same path.
func (s *Source) place(mmap *perfevent.Mmap) {
	if st, ok := s.files[string(mmap.Filename)]; ok {
		mmap.Major, mmap.Minor, mmap.Inode, mmap.InodeGeneration = unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino, 0
	}
}

// Account returns the account of the recorded run.
func (s *Source) Account() (engine.Account, error) { return s.File.Account, nil }

// Close does nothing.
func (s *Source) Close() error { return nil }

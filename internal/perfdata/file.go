package perfdata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// File is an open recording. Read it from one goroutine at a time.
type File struct {
	// Events are the recorded events, in the order of Sample.Sampling.
	Events []Event
	// Info describes the recorded machine and run.
	Info Info
	// BuildIDs are the build ids of the files that samples hit.
	BuildIDs []BuildID
	// Symbols are the names of the code that samples hit; nil if the recorder did not write them.
	Symbols []SymbolTable
	// Formats are the formats of the recorded tracepoints, and of others of ftrace itself.
	Formats []EventFormat
	// KernelStrings is the file printk_formats of the recorded kernel's tracefs: texts that events
	// record by address.
	KernelStrings []byte
	// Problem says which part of the header could not be read, although the records can be.
	// It is nil if all is well.
	Problem error

	streams []stream
	closers []io.Closer
	size    int64 // of all streams' files: see Size
	changed time.Time
}

// Event is a recorded event.
type Event struct {
	perfevent.EventAttr
	Name string // as given to the recorder, or else perf's name for the attribute
}

// stream is a part of a file that holds records, one after another.
type stream struct {
	name  string
	r     io.ReaderAt
	start int64
	end   int64
	cut   bool // the recorder was killed, or the file ends before its last record
}

// ErrNotPerfData is returned for files that are not recordings.
var ErrNotPerfData = errors.New("not a perf.data file")

// A FormatError says where a recording stops making sense.
type FormatError struct {
	Name   string // of the file; a directory has several
	Offset int64  // bytes from the start of the file
	Err    error
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: offset %d: %v", e.Name, e.Offset, e.Err)
}

func (e *FormatError) Unwrap() error { return e.Err }

// Magic numbers, as the bytes that a file starts with.
const (
	// Magic starts each recording that Open reads.
	Magic        = "PERFILE2"
	swappedMagic = "2ELIFREP"
	oldMagic     = "PERFFILE" // before Linux 2.6.36, with other attributes
)

// Sizes of the header of a pipe and of a file, bytes.
const (
	pipeHeader = 16
	fileHeader = 104
)

// Open opens a recording: a file, a directory, or standard input if path is "-". It copies standard
// input and pipes to a temporary file first. It returns ErrNotPerfData for anything else.
func Open(path string) (*File, error) {
	f := &File{}
	if err := f.open(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *File) open(path string) error {
	if path == "-" {
		return f.copy("standard input", os.Stdin)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return f.openDirectory(path)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		defer file.Close()
		return f.copy(path, file)
	}
	if err := f.openFile(path, file); err != nil {
		return err
	}
	if f.Info.Directory {
		f.Problem = errors.Join(f.Problem, fmt.Errorf("%s is one file of several: open its directory", path))
	}
	return nil
}

// Copy copies a recording from r to a temporary file, which disappears when it is closed, and opens
// it. name is for messages.
func Copy(name string, r io.Reader) (*File, error) {
	f := &File{}
	if err := f.copy(name, r); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *File) copy(name string, r io.Reader) error {
	file, err := spooled(r)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return f.openFile(name, file)
}

// spooled copies a stream to a temporary file, which disappears when it is closed.
func spooled(r io.Reader) (*os.File, error) {
	file, err := os.CreateTemp("", "ringtap-perfdata-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if _, err := io.Copy(file, r); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// openDirectory opens the files of "perf record --threads".
func (f *File) openDirectory(path string) error {
	header, err := os.Open(filepath.Join(path, "data"))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w: the directory has no file called data", path, ErrNotPerfData)
	}
	if err != nil {
		return err
	}
	if err := f.openFile(header.Name(), header); err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(path, "data.*"))
	if err != nil {
		return err
	}
	for i := range names { // perf numbers the files of its threads
		if name := filepath.Join(path, fmt.Sprintf("data.%d", i)); !slices.Contains(names, name) {
			f.Problem = errors.Join(f.Problem, fmt.Errorf("%s is missing", name))
		}
	}
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		f.closers = append(f.closers, file)
		info, err := file.Stat()
		if err != nil {
			return err
		}
		f.size += info.Size()
		f.streams = append(f.streams, stream{name: name, r: file, end: info.Size()})
	}
	return nil
}

// openFile reads the header of a file, which it keeps open.
func (f *File) openFile(name string, file *os.File) error {
	f.closers = append(f.closers, file)
	info, err := file.Stat()
	if err != nil {
		return err
	}
	f.changed = info.ModTime()
	return f.parse(name, file, info.Size())
}

// parse reads the header.
func (f *File) parse(name string, r io.ReaderAt, size int64) error {
	f.size = size
	var head [fileHeader]byte
	n, err := r.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return fmt.Errorf("%s: %w", name, err)
	}
	switch text := string(head[:min(n, 8)]); {
	case text == Magic:
	case text == swappedMagic:
		return fmt.Errorf("%s: recorded on a machine of the other byte order, which ringtap does not read", name)
	case text == oldMagic:
		return fmt.Errorf("%s: recorded before Linux 2.6.36, in a format that ringtap does not read", name)
	case strings.HasPrefix(text, "\x1f\x8b"):
		return fmt.Errorf("%s: %w: it is packed by gzip: unpack it first", name, ErrNotPerfData)
	case n == 0:
		return fmt.Errorf("%s: %w: it is empty", name, ErrNotPerfData)
	default:
		return fmt.Errorf("%s: %w: it starts with %q, not with %q", name, ErrNotPerfData, text, Magic)
	}
	if n < pipeHeader {
		return &FormatError{name, int64(n), errors.New("the file ends in its header")}
	}
	f.Info.Pipe = binary.LittleEndian.Uint64(head[8:]) == pipeHeader
	s := stream{name: name, r: r, start: pipeHeader, end: size}
	switch {
	case f.Info.Pipe:
		f.streams = []stream{s}
		err = f.readPreamble()
	case n < fileHeader:
		return &FormatError{name, int64(n), errors.New("the file ends in its header")}
	default:
		err = f.parseHeader(&s, head[:])
		f.streams = []stream{s}
	}
	if err != nil {
		return err
	}
	if len(f.Events) == 0 {
		return fmt.Errorf("%s: it records no event", name)
	}
	for i := range f.Events {
		if e := &f.Events[i]; e.Name == "" {
			e.Name = perfevent.EventOf(&e.Attr).String()
		}
	}
	return nil
}

// section is a range of bytes in a file.
type section struct{ offset, size uint64 }

// sectionAt decodes a section's offset and size.
func sectionAt(b []byte) section {
	return section{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

// within reports whether a section lies in the first size bytes.
func (s section) within(size int64) bool {
	return s.offset <= uint64(size) && s.size <= uint64(size)-s.offset
}

// read reads a section's bytes.
func (s section) read(r io.ReaderAt, size int64) ([]byte, error) {
	if !s.within(size) {
		return nil, fmt.Errorf("a section of %d bytes at offset %d is not in the file, which has %d", s.size, s.offset, size)
	}
	b := make([]byte, s.size)
	_, err := r.ReadAt(b, int64(s.offset))
	if err == io.EOF {
		err = nil // exactly at the end
	}
	return b, err
}

// idSection is the size of the section descriptor after each attribute. It points to the event's ids.
const idSection = 16

// parseHeader reads the attributes and features of a file, and where its records are.
func (f *File) parseHeader(s *stream, head []byte) error {
	attrSize := binary.LittleEndian.Uint64(head[16:])
	attrs, data := sectionAt(head[24:]), sectionAt(head[40:])
	b, err := attrs.read(s.r, f.size)
	switch {
	case err != nil:
		return fmt.Errorf("%s: attributes: %w", s.name, err)
	case attrSize < unix.PERF_ATTR_SIZE_VER0+idSection || attrSize > uint64(len(b)):
		return fmt.Errorf("%s: attributes of %d bytes make no sense", s.name, attrSize)
	}
	for ; uint64(len(b)) >= attrSize; b = b[attrSize:] {
		ids, err := sectionAt(b[attrSize-idSection:]).read(s.r, f.size)
		if err != nil {
			return fmt.Errorf("%s: ids of event %d: %w", s.name, len(f.Events), err)
		}
		f.addEvent(b[:attrSize-idSection], ids)
	}
	s.start = int64(min(data.offset, uint64(f.size)))
	// The recorder writes the size and the features when it ends, unless it is killed.
	if s.end = s.start + int64(data.size); data.size == 0 || !data.within(f.size) {
		s.end, s.cut = f.size, true
		return nil
	}
	bitmap := head[72:fileHeader]
	f.Problem = f.readFeatures(s, bitmap)
	ended := bitmap[featureSampleTime/8]>>(featureSampleTime%8)&1 != 0
	s.cut = !ended && strings.HasPrefix(f.Info.PerfVersion, "ringtap ") // a Writer that was not closed
	return nil
}

// addEvent adds an event, given its perf_event_attr and its ids as recorded.
func (f *File) addEvent(attr, ids []byte) {
	var e Event
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&e.Attr)), unsafe.Sizeof(e.Attr)), attr)
	for ; len(ids) >= 8; ids = ids[8:] {
		e.IDs = append(e.IDs, binary.LittleEndian.Uint64(ids))
	}
	f.Events = append(f.Events, e)
}

// attrsOf returns events for a decoder.
func attrsOf(events []Event) []perfevent.EventAttr {
	all := make([]perfevent.EventAttr, len(events))
	for i := range events {
		all[i] = events[i].EventAttr
	}
	return all
}

// eventOf returns the event with an id, or nil.
func (f *File) eventOf(id uint64) *Event {
	i := slices.IndexFunc(f.Events, func(e Event) bool { return slices.Contains(e.IDs, id) })
	if i < 0 {
		return nil
	}
	return &f.Events[i]
}

// Modified returns when the recording was last written: for standard input, when it was read.
func (f *File) Modified() time.Time { return f.changed }

// Size returns the size of the recording in bytes.
func (f *File) Size() int64 { return f.size }

// Close closes the files.
func (f *File) Close() error {
	var errs []error
	for _, c := range f.closers {
		errs = append(errs, c.Close())
	}
	f.closers = nil
	return errors.Join(errs...)
}

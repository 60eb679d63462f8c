// Package jitmap reads the files in which just-in-time compilers name their code:
//
//	perf map   lines of START SIZE NAME       /tmp/perf-PID.map
//	jitdump    binary records, with the code  a file that the process maps
//
// Both grow while the process runs. A Reader returns one entry after another, and continues
// when more has been written.
package jitmap

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
)

// MaxName is the number of bytes that a Reader returns of a name. It cuts longer names.
const MaxName = 16 << 10

// Entry names a range of code.
type Entry struct {
	Start uint64 // address of the first byte
	Size  uint32 // in bytes, not 0
	Name  []byte // valid until the next call of the Reader
	// Time is when the code was made or moved (CLOCK_MONOTONIC, nanoseconds). It is 0 in a perf
	// map, which has no times, and in a jitdump file that uses another clock.
	Time uint64
	// Offset is where the entry starts in the file, in bytes.
	Offset int64
}

// Reader reads the entries of a perf map or a jitdump file. It tells the two apart by the first bytes.
type Reader struct {
	// Whole makes Next stop before a last line that has no newline. The process may be in
	// the middle of writing it.
	Whole bool
	// BadLines counts the lines or records that Next skipped because it could not read them.
	BadLines int

	in     *bufio.Reader
	offset int64 // of the next entry in the file
	form   form
	dump   jitdump
}

// form is what kind of file a Reader reads.
type form uint8

const (
	unknown form = iota // nothing has been read yet
	text
	binaryDump
)

// NewReader returns a Reader of a file that r reads from its start.
func NewReader(r io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(r, MaxName+256)} }

// Offset returns where in the file the next entry starts, in bytes.
func (r *Reader) Offset() int64 { return r.offset }

// Continue makes r read the rest of the same file from a new reader, which starts at Offset.
func (r *Reader) Continue(rest io.Reader) { r.in.Reset(rest) }

// Next returns the next entry. The error is io.EOF at the end of the file, also if the last entry
// is incomplete. All other errors wrap those of the underlying reader.
func (r *Reader) Next() (Entry, error) {
	if r.form == unknown {
		start, err := r.in.Peek(magicSize)
		switch {
		case isJitdump(start):
			r.form = binaryDump
		case err == nil || len(start) > 0 && !r.Whole:
			r.form = text
		case err == io.EOF:
			return Entry{}, io.EOF
		default:
			return Entry{}, fmt.Errorf("read perf map: %w", err)
		}
	}
	if r.form == binaryDump {
		e, err := r.nextRecord()
		if err != nil && err != io.EOF {
			err = fmt.Errorf("read jitdump file: %w", err)
		}
		return e, err
	}
	return r.nextLine()
}

// nextLine returns the entry of the next line that can be read.
func (r *Reader) nextLine() (Entry, error) {
	for {
		line, err := r.in.ReadSlice('\n')
		length := len(line)
		tooLong := err == bufio.ErrBufferFull
		for err == bufio.ErrBufferFull { // no name is that long: skip the rest of the line
			line, err = r.in.ReadSlice('\n')
			length += len(line)
		}
		if err != nil && err != io.EOF {
			return Entry{}, fmt.Errorf("read perf map: %w", err)
		}
		if length == 0 || err == io.EOF && r.Whole {
			return Entry{}, io.EOF
		}
		e, ok := Entry{}, false
		if line = bytes.TrimRight(line, "\r\n"); !tooLong {
			e, ok = parseLine(line)
		}
		e.Offset = r.offset
		r.offset += int64(length)
		if ok {
			return e, nil
		}
		if tooLong || len(line) > 0 {
			r.BadLines++
		}
	}
}

// parseLine parses a line without its newline.
func parseLine(line []byte) (Entry, bool) {
	start, rest, _ := bytes.Cut(line, []byte(" "))
	size, name, _ := bytes.Cut(rest, []byte(" "))
	from, err := parseHex(start)
	if err != nil {
		return Entry{}, false
	}
	length, err := parseHex(size)
	if err != nil {
		return Entry{}, false
	}
	return entry(from, length, name)
}

func parseHex(b []byte) (uint64, error) {
	return strconv.ParseUint(string(bytes.TrimPrefix(b, []byte("0x"))), 16, 64)
}

// entry returns an entry. It reports false if the code range is impossible or has no name.
func entry(start, size uint64, name []byte) (Entry, bool) {
	if len(name) == 0 || size == 0 || size > math.MaxUint32 || start+size < start {
		return Entry{}, false
	}
	return Entry{Start: start, Size: uint32(size), Name: name[:min(len(name), MaxName)]}, true
}

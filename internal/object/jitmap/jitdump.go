package jitmap

import (
	"bufio"
	"encoding/binary"
	"io"
)

// The form of jitdump files, version 1, in the byte order of the machine
// (tools/perf/Documentation/jitdump-specification.txt in the kernel's tree).
const (
	magic      = 0x4A695444
	magicSize  = 4  // bytes
	headerSize = 40 // bytes of the file's header
	prefixSize = 16 // bytes at the start of a record: its kind, its size, a time

	// otherClock is set in the header's flags if times come from the CPU's own counter.
	otherClock = 1 << 0

	recordLoad = 0 // code was made
	recordMove = 1 // code was moved
)

// Bytes of the fixed part of a record, after the prefix.
const (
	loadSize = 40 // pid, tid, address twice, size, index
	moveSize = 48 // pid, tid, new address, old address, new address, size, index
)

// maxLoaded bounds what is kept for records of moved code, in bytes: names, and loadedCost for each.
const (
	maxLoaded  = 64 << 20
	loadedCost = 64
)

// jitdump is the state after the records read so far.
type jitdump struct {
	begun  bool              // the header has been read
	ended  bool              // the start of the next record is unknown
	timed  bool              // times are CLOCK_MONOTONIC
	loaded map[uint64]string // the name of the code, by its index
	bytes  int               // estimated size of loaded
}

// isJitdump reports whether a file that starts with these bytes is a jitdump file.
func isJitdump(start []byte) bool {
	return len(start) >= magicSize && binary.LittleEndian.Uint32(start) == magic
}

// nextRecord returns the entry of the next record that makes or moves code.
func (r *Reader) nextRecord() (Entry, error) {
	if !r.dump.begun {
		if err := r.readHeader(); err != nil {
			return Entry{}, ended(err)
		}
	}
	for !r.dump.ended {
		e, ok, err := r.readRecord()
		if ok || err != nil {
			return e, ended(err)
		}
	}
	return Entry{}, io.EOF
}

// readHeader reads the file's header.
func (r *Reader) readHeader() error {
	var header [headerSize]byte
	if _, err := io.ReadFull(r.in, header[:]); err != nil {
		return err
	}
	size := int64(binary.LittleEndian.Uint32(header[8:]))
	if size < headerSize {
		r.BadLines++
		r.dump.begun, r.dump.ended = true, true
		return nil
	}
	if err := discard(r.in, size-headerSize); err != nil {
		return err
	}
	r.offset += size
	r.dump.begun, r.dump.loaded = true, make(map[uint64]string)
	r.dump.timed = binary.LittleEndian.Uint64(header[32:])&otherClock == 0
	return nil
}

// readRecord reads a record. It reports false if the record is not about code, or is malformed.
// Only a complete record counts: Offset stays at its start until then.
func (r *Reader) readRecord() (e Entry, ok bool, err error) {
	var prefix [prefixSize]byte
	if _, err := io.ReadFull(r.in, prefix[:]); err != nil {
		return e, false, err
	}
	kind, total := binary.LittleEndian.Uint32(prefix[:]), int64(binary.LittleEndian.Uint32(prefix[4:]))
	left := total - prefixSize
	if left < 0 {
		r.BadLines++
		r.dump.ended = true
		return e, false, nil
	}
	var fixed [moveSize]byte
	n := int64(0)
	switch kind {
	case recordLoad:
		n = loadSize
	case recordMove:
		n = moveSize
	}
	known := n > 0
	malformed := left < n
	if !known || malformed {
		n = 0
	}
	if _, err := io.ReadFull(r.in, fixed[:n]); err != nil {
		return e, false, err
	}
	left -= n
	word := func(offset int) uint64 { return binary.LittleEndian.Uint64(fixed[offset:]) }
	var start, size, index uint64
	var name []byte
	switch {
	case malformed || !known:
	case kind == recordLoad:
		start, size, index = word(16), word(24), word(32)
		if name, left, err = readName(r.in, left); err != nil {
			return e, false, err
		}
	case kind == recordMove:
		start, size, index = word(24), word(32), word(40)
		name = []byte(r.dump.loaded[index])
	}
	if err := discard(r.in, left); err != nil {
		return e, false, err
	}
	if e, ok = entry(start, size, name); ok && kind == recordLoad && r.dump.bytes < maxLoaded {
		r.dump.loaded[index] = string(e.Name)
		r.dump.bytes += len(e.Name) + loadedCost
	}
	if known && !ok {
		r.BadLines++
	}
	e.Offset = r.offset
	if r.dump.timed {
		e.Time = binary.LittleEndian.Uint64(prefix[8:])
	}
	r.offset += total
	return e, ok, nil
}

// readName reads a name up to its zero byte from the left bytes of a record. It returns how
// many bytes remain.
func readName(r *bufio.Reader, left int64) (name []byte, rest int64, err error) {
	for left > 0 {
		c, err := r.ReadByte()
		if err != nil {
			return nil, 0, err
		}
		left--
		if c == 0 {
			break
		}
		if len(name) < MaxName {
			name = append(name, c)
		}
	}
	return name, left, nil
}

// discard skips n bytes.
func discard(r *bufio.Reader, n int64) error {
	_, err := io.CopyN(io.Discard, r, n)
	return err
}

// ended returns io.EOF also if the file ends in the middle of a record.
func ended(err error) error {
	if err == io.ErrUnexpectedEOF {
		return io.EOF
	}
	return err
}

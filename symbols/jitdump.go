package symbols

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// The form of jitdump files (tools/perf/Documentation/jitdump-specification.txt in the
// kernel's tree), version 1, in the byte order of the machine.
const (
	jitdumpMagic  = 0x4A695444
	jitdumpHeader = 40 // bytes, of the file
	jitdumpPrefix = 16 // bytes, of a record: what it is, its size, a time

	jitdumpLoad = 0 // code was made
	jitdumpMove = 1 // code was moved
)

// Bytes of the fixed parts of records behind the prefix.
const (
	jitdumpLoadSize = 40 // pid, tid, address twice, size, index
	jitdumpMoveSize = 48 // pid, tid, new address, old address, new address, size, index
)

// isJitdump tells whether a file that begins so is a jitdump file.
func isJitdump(begin []byte) bool {
	return len(begin) >= 4 && binary.LittleEndian.Uint32(begin) == jitdumpMagic
}

// readJitdump reads the names and places of the code in a jitdump file, whose code is
// passed over, as entries in the order of the file. A record that is not whole is the
// end: the runtime is in the middle of writing it. Its errors are those of r.
func (p *PerfMap) readJitdump(r *bufio.Reader) (entries []jitted, names []byte, err error) {
	var header [jitdumpHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, nil, jitdumpEnd(err)
	}
	size := binary.LittleEndian.Uint32(header[8:])
	if size < jitdumpHeader {
		p.BadLines++
		return nil, nil, nil
	}
	if _, err := io.CopyN(io.Discard, r, int64(size-jitdumpHeader)); err != nil {
		return nil, nil, jitdumpEnd(err)
	}
	code := map[uint64]jitted{} // by its index, which moving leaves as it is
	for {
		var prefix [jitdumpPrefix]byte
		if _, err := io.ReadFull(r, prefix[:]); err != nil {
			return entries, names, jitdumpEnd(err)
		}
		total := int64(binary.LittleEndian.Uint32(prefix[4:]))
		left := total - jitdumpPrefix
		if left < 0 {
			p.BadLines++
			return entries, names, nil // where the next one begins is not known
		}
		fixed := 0
		kind := binary.LittleEndian.Uint32(prefix[:])
		switch kind {
		case jitdumpLoad:
			fixed = jitdumpLoadSize
		case jitdumpMove:
			fixed = jitdumpMoveSize
		}
		if left < int64(fixed) {
			p.BadLines++
			fixed, kind = 0, math.MaxUint32
		}
		var b [jitdumpMoveSize]byte
		if _, err := io.ReadFull(r, b[:fixed]); err != nil {
			return entries, names, jitdumpEnd(err)
		}
		left -= int64(fixed)
		word := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
		var e jitted
		ok := false
		switch kind {
		case jitdumpLoad:
			var name []byte
			name, left, err = readName(r, left)
			if err != nil {
				return entries, names, jitdumpEnd(err)
			}
			if e, ok = jittedAt(word(16), word(24)); ok {
				e.name, e.length = uint32(len(names)), uint16(len(name))
				names = append(names, name...)
				if len(code) < maxSymbols {
					code[word(32)] = e
				}
			}
		case jitdumpMove:
			before, known := code[word(40)]
			if e, ok = jittedAt(word(24), word(32)); ok && known {
				e.name, e.length = before.name, before.length
			}
			ok = ok && known
		default:
			ok = true
			e.size = 0
		}
		switch {
		case !ok:
			p.BadLines++
		case e.size == 0: // a record of another kind
		case len(entries) >= maxSymbols:
			p.Cut = true
		default:
			entries = append(entries, e)
		}
		if _, err := io.CopyN(io.Discard, r, left); err != nil {
			return entries, names, jitdumpEnd(err)
		}
	}
}

// jittedAt is code at an address; false if there can be none.
func jittedAt(start, size uint64) (jitted, bool) {
	return jitted{start: start, size: uint32(size)}, size > 0 && size <= math.MaxUint32 && start+size >= start
}

// readName reads a name up to its zero byte, cut at maxSymbolName, of left bytes of a
// record, and returns how many are left.
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
		if len(name) < maxSymbolName {
			name = append(name, c)
		}
	}
	return name, left, nil
}

// jitdumpEnd is nil for the end of a file, within a record or not.
func jitdumpEnd(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return fmt.Errorf("read jitdump file: %w", err)
}

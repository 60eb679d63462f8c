package process

import "bytes"

// Area is a line of /proc/PID/maps (proc_pid_maps(5)): memory of a process.
type Area struct {
	Start, End uint64 // addresses: End is behind the last byte
	Offset     uint64 // bytes from the file's first
	Writable   bool
	Executable bool
	// Path is as the kernel escapes and marks it, and is valid until the next line
	// is read.
	Path []byte

	id fileID // inode 0 if no file is mapped
}

// isExecutable tells whether a line of maps is about executable memory, for
// nine in ten are not and need no further look.
func isExecutable(line []byte) bool {
	i := bytes.IndexByte(line, ' ')
	return i >= 0 && len(line) > i+3 && line[i+3] == 'x'
}

// parseArea reads one line of maps:
//
//	55a493272000-55a493277000 r-xp 00002000 fe:00 247026       /usr/bin/cat
func parseArea(line []byte) (a Area, ok bool) {
	rest := line
	if a.Start, rest, ok = number(rest, 16, '-'); !ok {
		return a, false
	}
	if a.End, rest, ok = number(rest, 16, ' '); !ok || a.End <= a.Start {
		return a, false
	}
	if len(rest) < 5 || rest[4] != ' ' {
		return a, false
	}
	a.Writable, a.Executable, rest = rest[1] == 'w', rest[2] == 'x', rest[5:]
	if a.Offset, rest, ok = number(rest, 16, ' '); !ok {
		return a, false
	}
	var device uint64
	if device, rest, ok = number(rest, 16, ':'); !ok || device > 1<<32-1 {
		return a, false
	}
	a.id.major = uint32(device)
	if device, rest, ok = number(rest, 16, ' '); !ok || device > 1<<32-1 {
		return a, false
	}
	a.id.minor = uint32(device)
	if a.id.inode, rest, ok = number(rest, 10, ' '); !ok {
		return a, false
	}
	a.Path = bytes.TrimLeft(rest, " ")
	return a, true
}

// number reads digits of a base up to an end byte, or up to the end of text
// where that byte is a blank (old kernels leave none after the last field).
func number(text []byte, base uint64, end byte) (value uint64, rest []byte, ok bool) {
	for i, c := range text {
		var digit uint64
		switch {
		case c >= '0' && c <= '9':
			digit = uint64(c - '0')
		case c >= 'a' && c <= 'f':
			digit = uint64(c-'a') + 10
		default:
			return value, text[i+1:], c == end && i > 0
		}
		if digit >= base || value > (1<<64-1-digit)/base {
			return 0, nil, false
		}
		value = value*base + digit
	}
	return value, nil, end == ' ' && len(text) > 0
}

// deletedMark is what the kernel appends to the path of a file that has no name
// any more (d_path in fs/d_path.c), in maps as in records.
const deletedMark = " (deleted)"

// cutDeleted removes that mark. A file whose name really ends that way is told
// from a deleted one by its inode.
func cutDeleted(path []byte) (name []byte, deleted bool) {
	if len(path) == 0 || path[0] != '/' {
		return path, false
	}
	return bytes.CutSuffix(path, []byte(deletedMark))
}

// unescape undoes what maps, other than records, does to a path: newlines are
// written \012 (seq_path in fs/seq_file.c).
func unescape(path []byte) []byte {
	if !bytes.Contains(path, escapedNewline) {
		return path
	}
	return bytes.ReplaceAll(path, escapedNewline, newline)
}

var escapedNewline = []byte(`\012`)

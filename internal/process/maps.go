package process

import (
	"bytes"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// Area is a line of /proc/PID/maps (proc_pid_maps(5)): a range of a process's memory.
type Area struct {
	Start, End uint64 // addresses: [Start, End)
	Offset     uint64 // in the file, in bytes
	Writable   bool
	Executable bool
	// Path is escaped and marked by the kernel. It is valid until the next line is read.
	Path []byte

	id fileID // inode 0 if no file is mapped
}

// Mmap returns the record of an area of process pid as perf makes it of /proc/PID/maps. It shares Path
// with the area. maps shows fewer of the arguments of mmap(2) than a record has: Flags are 0, and
// memory that can be executed or written is taken for readable.
func (a *Area) Mmap(pid int) perfevent.Mmap {
	m := perfevent.Mmap{Header: perfevent.Header{Type: unix.PERF_RECORD_MMAP2, Misc: unix.PERF_RECORD_MISC_USER},
		PID: uint32(pid), TID: uint32(pid), Addr: a.Start, Len: a.End - a.Start, Pgoff: a.Offset,
		Major: a.id.major, Minor: a.id.minor, Inode: a.id.inode, Prot: unix.PROT_READ, Filename: unescape(a.Path)}
	if a.Writable {
		m.Prot |= unix.PROT_WRITE
	}
	if a.Executable {
		m.Prot |= unix.PROT_EXEC
	} else {
		m.Misc |= unix.PERF_RECORD_MISC_MMAP_DATA
	}
	if len(a.Path) == 0 {
		m.Filename = []byte("//anon") // as in the kernel's own records
	}
	return m
}

// isExecutable reports whether a line of maps is about executable memory. Nine in ten are not
// and need no parsing.
func isExecutable(line []byte) bool {
	i := bytes.IndexByte(line, ' ')
	return i >= 0 && len(line) > i+3 && line[i+3] == 'x'
}

// parseArea parses one line of maps:
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

// number reads digits in a base up to the byte end. If end is a blank, the number may also end
// the text: old kernels put no blank after the last field.
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

// deletedMark is appended by the kernel to the path of a file without a name (d_path in
// fs/d_path.c), in maps and in records.
const deletedMark = " (deleted)"

// cutDeleted removes that mark. A file whose name really ends with the mark can be told from a
// deleted one by its inode.
func cutDeleted(path []byte) (name []byte, deleted bool) {
	if len(path) == 0 || path[0] != '/' {
		return path, false
	}
	return bytes.CutSuffix(path, []byte(deletedMark))
}

// unescape undoes the escaping of paths in maps, where newlines are written as \012 (seq_path
// in fs/seq_file.c). Records are not escaped.
func unescape(path []byte) []byte {
	if !bytes.Contains(path, escapedNewline) {
		return path
	}
	return bytes.ReplaceAll(path, escapedNewline, newline)
}

var escapedNewline = []byte(`\012`)

package eval

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// strings compiles functions of strings that return numbers.
func (c *compiler) strings(e *check.Call) intFunc {
	if len(e.Args) == 0 || !text(e.Args[0].Type()) {
		c.fail(e)
		return func(*Machine) uint64 { return 0 }
	}
	x := c.text(e.Args[0])
	if e.Func == "strlen" {
		return func(m *Machine) uint64 { return uint64(len(cString(x(m)))) }
	}
	y := c.text(e.Args[1])
	switch e.Func {
	case "strcontains":
		return func(m *Machine) uint64 { a := cString(x(m)); return truth(strings.Contains(a, cString(y(m)))) }
	case "strstr":
		return func(m *Machine) uint64 {
			a := cString(x(m))
			return uint64(int64(strings.Index(a, cString(y(m)))))
		}
	case "file_number":
		return func(m *Machine) uint64 {
			b, _ := m.opts.Host.File(x(m), maxNumbers)
			return uint64(numberOf(string(b), cString(y(m))))
		}
	case "strncmp":
		n := c.int(e.Args[2])
		return func(m *Machine) uint64 {
			a, b := cString(x(m)), cString(y(m))
			count := n(m)
			return truth(a[:min(uint64(len(a)), count)] != b[:min(uint64(len(b)), count)])
		}
	case "memcmp":
		n := c.int(e.Args[2])
		return func(m *Machine) uint64 { a := x(m); b := y(m); return uint64(compareBytes(a, b, n(m))) }
	}
	c.fail(e)
	return func(*Machine) uint64 { return 0 }
}

// maxNumbers bounds how much of a file file_number() reads, in bytes.
const maxNumbers = 1 << 20

// numberOf returns the number after name at the start of a line, in a file such as /proc/meminfo.
// It returns -1 if there is none.
func numberOf(file, name string) int64 {
	for line := range strings.Lines(file) {
		words := strings.Fields(line)
		if len(words) < 2 || strings.TrimSuffix(words[0], ":") != name {
			continue
		}
		if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
			return n
		}
	}
	return -1
}

// compareBytes compares the first n bytes of a and b. Missing bytes count as zero.
func compareBytes(a, b string, n uint64) int64 {
	for i := uint64(0); i < n && (i < uint64(len(a)) || i < uint64(len(b))); i++ {
		var x, y byte
		if i < uint64(len(a)) {
			x = a[i]
		}
		if i < uint64(len(b)) {
			y = b[i]
		}
		if x != y {
			return int64(x) - int64(y)
		}
	}
	return 0
}

// cString returns s up to its first zero.
func cString(s string) string {
	if end := strings.IndexByte(s, 0); end >= 0 {
		return s[:end]
	}
	return s
}

// kept returns a function that returns how many bytes of a text str(x, n) keeps. size is the size
// of the result type, which includes the terminating zero in 0.17 only. Releases before 0.23 keep n
// bytes. Later ones keep n-1, unless n exceeds the type: then the trailer shows the cut.
func (c *compiler) kept(size int) func(n uint64) int {
	most, countsEnd := uint64(size), c.m.opts.Dialect.CountsEnd()
	if c.m.opts.Dialect == check.V017 {
		most = uint64(max(size-1, 0))
	}
	return func(n uint64) int {
		if countsEnd && n <= most {
			n = max(n, 1) - 1
		}
		return int(min(n, most))
	}
}

// callText compiles a call whose value consists of bytes.
func (c *compiler) callText(e *check.Call) textFunc {
	switch e.Func {
	case "str", "buf":
		s, n, t := c.text(e.Args[0]), c.int(e.Args[1]), e.T
		if e.Func == "str" {
			keep := c.kept(t.Size)
			return func(m *Machine) string { text := cString(s(m)); return text[:min(len(text), keep(n(m)))] }
		}
		return func(m *Machine) string {
			text, most := s(m), n(m)
			if pad := int(min(most, uint64(t.Size))) - len(text); pad > 0 {
				text += string(make([]byte, pad)) // a buffer includes the terminating zero of a string
			}
			return resize(text[:min(uint64(len(text)), most)], t)
		}
	case "str_join":
		words, sep, size := c.text(e.Args[0]), e.Format, e.T.Size
		return func(m *Machine) string {
			text := strings.ReplaceAll(strings.TrimSuffix(words(m), "\x00"), "\x00", sep)
			return text[:min(len(text), size)]
		}
	case "str_concat":
		x, y, t := c.text(e.Args[0]), c.text(e.Args[1]), e.T
		return func(m *Machine) string { a := cString(x(m)); return resize(a+cString(y(m)), t) }
	case "strerror", "signal_name", "syscall_name", "comm", "fdpath", "ksym", "usym":
		n, name := c.int(e.Args[0]), e.Func
		late := name == "comm" || name == "fdpath" // another program or file may have taken its place
		return func(m *Machine) string {
			m.late = m.late || late
			return m.opts.Host.Word(m.hit, name, int64(n(m)))
		}
	case "enum":
		n, name := c.int(e.Args[0]), "enum "+e.Format
		return func(m *Machine) string { return m.opts.Host.Word(m.hit, name, int64(n(m))) }
	case "ntop":
		return c.ntop(e)
	case "macaddr":
		return c.bytes(e.Args[0], 6)
	}
	c.fail(e)
	return func(*Machine) string { return "" }
}

// ntop compiles a network address, given as an integer or as bytes.
func (c *compiler) ntop(e *check.Call) textFunc {
	x := e.Args[len(e.Args)-1]
	size := 4
	if x.Type().Kind != types.Int && x.Type().Size >= 16 {
		size = 16
	}
	raw := c.bytes(x, size)
	if len(e.Args) == 1 {
		return raw
	}
	const inet6 = 10
	family := c.int(e.Args[0])
	return func(m *Machine) string {
		six := family(m) == inet6
		b := raw(m)
		if six && len(b) == 4 {
			return b + string(make([]byte, 12))
		}
		if !six {
			return b[:4]
		}
		return b
	}
}

// bytes compiles a value as size bytes. An integer has the bytes that it has in memory.
func (c *compiler) bytes(x check.Expr, size int) textFunc {
	t := &types.Type{Kind: types.Array, Size: size, Elem: types.Uint8, Len: size}
	if numeric(x.Type()) {
		n := c.int(x)
		return func(m *Machine) string {
			v := n(m)
			b := make([]byte, size)
			for i := range b {
				b[i] = byte(v >> (8 * (i & 7)))
			}
			return string(b)
		}
	}
	s := c.text(x)
	return func(m *Machine) string { return resize(s(m), t) }
}

package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/show"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// testHost is a host whose memory is a map of texts by address.
type testHost struct {
	memory   map[uint64]string
	late     bool // it is read later than the hits
	messages []string
	ran      []string
}

func (*testHost) Clock(mode string, monotonic uint64) uint64 { return monotonic }
func (*testHost) Wall(monotonic uint64) time.Time            { return time.Unix(0, int64(monotonic)).UTC() }
func (*testHost) Text(*Hit, uint64) (string, bool, bool)     { return "", false, false }
func (*testHost) UserAddress(h *Hit, address uint64) uint64  { return address }
func (*testHost) Frames(stack uint64, user bool) int         { return int(stack) }
func (*testHost) Word(h *Hit, f string, n int64) string      { return fmt.Sprintf("%s-%d", f, n) }
func (*testHost) Signal(*Hit, int64, string, bool) error     { return errors.New("no signals in tests") }
func (*testHost) File(path string, most int) ([]byte, error) { return []byte("file " + path), nil }

func (t *testHost) System(command string) []byte {
	t.ran = append(t.ran, command)
	return []byte("ran " + command)
}

func (t *testHost) Read(h *Hit, address uint64, user bool, b []byte) (ok, late bool) {
	for start, text := range t.memory {
		if address >= start && address < start+uint64(len(text)) {
			clear(b)
			copy(b, text[address-start:])
			return true, t.late
		}
	}
	return false, false
}

func (t *testHost) Message(l Level, pos syntax.Pos, text string) {
	t.messages = append(t.messages, text)
}

func (*testHost) Stack(n uint64, user bool, mode string) []string {
	return []string{fmt.Sprintf("frame%d", n)}
}
func (*testHost) Symbol(n uint64, user bool) string         { return fmt.Sprintf("sym%d", n) }
func (*testHost) User(uid uint64) string                    { return fmt.Sprintf("user%d", uid) }
func (*testHost) Cgroup(id uint64) string                   { return fmt.Sprintf("cgroup%d", id) }
func (*testHost) PageFlags(flags uint64) string             { return fmt.Sprintf("flags%d", flags) }
func (*testHost) Enum(enum string, n uint64) (string, bool) { return "", false }

// testValues are the values of a hit.
type testValues struct {
	comm string
	list []value.Value
}

func (t testValues) Comm() string { return t.comm }

func (t testValues) Value(i int) value.Value {
	if i < len(t.list) {
		return t.list[i]
	}
	return value.Value{}
}

// machine makes a Machine of a text.
func machine(t testing.TB, text string, dialect check.Dialect) (*Machine, *show.Printer, *bytes.Buffer, *testHost) {
	t.Helper()
	parsed, err := syntax.Parse("", text, syntax.Options{})
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	p, err := check.Check(parsed, check.Options{Dialect: dialect, Unsafe: true})
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	out, host := &bytes.Buffer{}, &testHost{}
	d := show.Current()
	if dialect == check.V017 {
		d = show.Debian()
	}
	printer := show.NewPrinter(out, io.Discard, d, host)
	m, err := New(p, Options{Dialect: dialect, Output: printer, Host: host, CPUs: 4, Deletes: true})
	if err != nil {
		t.Fatal(err)
	}
	return m, printer, out, host
}

// run runs every clause of a text once and returns what it prints.
func run(t testing.TB, text string, dialect check.Dialect) (string, *testHost) {
	t.Helper()
	m, printer, out, host := machine(t, text, dialect)
	h := &Hit{Time: 5_000_000_000, PID: 42, TID: 43, CPU: 1, Probe: "begin", Values: testValues{comm: "cat"}}
	for i := range m.clauses {
		m.Hit(i, h)
	}
	if err := printer.Flush(); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String()), host
}

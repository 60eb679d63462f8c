package session

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/eval"
	"github.com/ringtap/ringtap/internal/bpftrace/live"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/internal/snapshot/syscalls"
)

// own returns the values that a clause reads if its probe fires in ringtap itself: those of this
// process and of the kernel.
func (s *session) own(c *check.Clause, host plan.Host) (*ownValues, *syntax.Error) {
	own := &ownValues{comm: s.comm, values: make([]func() value.Value, len(c.Sources))}
	for i, source := range c.Sources {
		if isKernelMemory(source) && s.kernel.open() == nil {
			own.values[i] = func() value.Value { return s.kernel.value(source) }
			continue
		}
		if source.Root == check.FieldRoot && c.Points[0].Provider == "iter" {
			get, err := s.itemValue(source, host)
			if err != nil {
				return nil, err
			}
			own.values[i] = get
			continue
		}
		if source.Root == check.TaskRoot && s.kernel.findTasks(host) == nil {
			own.values[i] = func() value.Value {
				b, _ := s.kernel.ofTask(s.self, math.MaxUint64, source.Path, live.Size(source))
				return live.Loaded(b, source)
			}
			continue
		}
		if v, ok := s.ownTask(source, host); ok {
			own.values[i] = func() value.Value { return v }
			continue
		}
		v, ok := s.ownValue(source)
		if !ok || len(source.Path) > 0 || source.Form != check.Plain {
			return nil, s.notHere(source)
		}
		own.values[i] = func() value.Value { return v }
	}
	return own, nil
}

// notHere returns the error for a value that probes that fire in ringtap do not have.
func (s *session) notHere(source *check.Source) *syntax.Error {
	e := &syntax.Error{Pos: source.Pos, Hint: "Probes such as begin and interval fire in ringtap itself."}
	switch {
	case isKernelMemory(source):
		e.Msg = fmt.Sprintf("the memory at %#x is read by probes of the kernel only", source.Address)
		e.Hint = fmt.Sprintf("Probes such as begin and interval fire in ringtap itself, which would read /proc/kcore: %v.", s.kernel.open())
	case source.Root == check.TaskRoot:
		e.Msg = fmt.Sprintf("what curtask leads to here is in the kernel's memory only, which ringtap cannot read: %v", s.kernel.open())
		e.Hint = "These are there: " + plan.TaskMembers + "."
	case source.Root == check.SymbolRoot:
		e.Msg = fmt.Sprintf("the memory at %#x is not the kernel's", source.Address)
	default:
		e.Msg = source.Title() + " is a value that only probes in the kernel or in a program have"
	}
	return e
}

// ownValues are the values of a hit in ringtap itself, by the clause's sources.
type ownValues struct {
	comm   string
	values []func() value.Value
}

// Value implements eval.Values.
func (v *ownValues) Value(source int) value.Value { return v.values[source]() }

// Comm returns the name of this process.
func (v *ownValues) Comm() string { return v.comm }

// ownTask returns a member of curtask that /proc also has. The thread is ringtap's own, in which
// probes such as begin and interval run. ok is false for any other source.
func (s *session) ownTask(source *check.Source, host plan.Host) (value.Value, bool) {
	if source.Root != check.TaskRoot {
		return value.Value{}, false
	}
	field, ok := plan.OfTask(host, source)
	switch {
	case !ok:
		return value.Value{}, false
	case field.Root != check.TaskRoot:
		return s.ownValue(&check.Source{Root: field.Root})
	case strings.HasPrefix(field.Name, "ns/"):
		return value.Int(proc.Live.Inode("self/" + field.Name)), true
	case field.Name == "comm":
		return value.String(s.comm), true
	}
	return value.Int(uint64(s.self)), true
}

// ownValue returns the value of a source that describes this process. ok is false for any other
// source.
func (s *session) ownValue(source *check.Source) (value.Value, bool) {
	switch source.Root {
	case check.KStackRoot, check.UStackRoot, check.NUMARoot:
		return value.Value{}, true
	case check.FuncRoot:
		return value.Value{}, true
	case check.UIDRoot:
		return value.Int(uint64(os.Getuid())), true
	case check.GIDRoot:
		return value.Int(uint64(os.Getgid())), true
	case check.ParentRoot:
		return value.Int(uint64(os.Getppid())), true
	case check.LeaderRoot:
		return value.Int(uint64(s.self)), true
	case check.UserModeRoot:
		return value.Int(1), true
	case check.ParentCommRoot:
		return value.String(proc.Live.Comm(os.Getppid())), true
	case check.LeaderCommRoot:
		return value.String(s.comm), true
	case check.CgroupRoot:
		return value.Int(ownCgroup()), true
	case check.SymbolRoot:
		return value.Int(source.Address), true
	}
	return value.Value{}, false
}

// ownCgroup returns the id of this process's control group, or 0 if it has none.
func ownCgroup() uint64 {
	path := proc.Live.CgroupV2()
	if path == "" {
		return 0
	}
	return inode("/sys/fs/cgroup" + path)
}

func inode(path string) uint64 {
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil {
		return 0
	}
	return stat.Ino
}

// Clock converts a monotonic time to another clock.
func (s *session) Clock(mode string, monotonic uint64) uint64 {
	ahead, known := s.ahead[mode]
	if !known {
		id := int32(unix.CLOCK_TAI)
		if mode == "boot" {
			id = unix.CLOCK_BOOTTIME
		}
		ahead = aheadOfMonotonic(id)
		s.ahead[mode] = ahead
	}
	return monotonic + uint64(ahead)
}

// aheadOfMonotonic returns how far a clock is ahead of CLOCK_MONOTONIC, in nanoseconds. It is
// measured once per clock. Two clocks cannot be read at the same instant, and the error must be the
// same for all times in a program.
func aheadOfMonotonic(id int32) (ahead int64) {
	const tries = 10
	best := int64(1<<63 - 1)
	for range tries {
		before := clock(unix.CLOCK_MONOTONIC)
		other := clock(id)
		after := clock(unix.CLOCK_MONOTONIC)
		if took := after - before; took < best {
			best, ahead = took, other-before-took/2
		}
	}
	return ahead
}

// Wall converts a monotonic time to wall-clock time.
func (s *session) Wall(monotonic uint64) time.Time { return s.names.Wall(monotonic) }

// Read implements eval.Host. For probes that fire in ringtap itself, it reads kernel memory.
func (s *session) Read(h *eval.Hit, address uint64, user bool, b []byte) (ok, late bool) {
	if _, own := h.Values.(*ownValues); own && !user {
		return s.kernel.read(address, b), false
	}
	if s.attached == nil {
		return len(b) == 0, false
	}
	return s.attached.Read(h, address, b)
}

// Text implements eval.Host.
func (s *session) Text(h *eval.Hit, address uint64) (text string, late, ok bool) {
	if s.attached == nil {
		return "", false, false
	}
	return s.attached.Text(h, address)
}

// UserAddress implements eval.Host. An address that is in no file stands for itself.
func (s *session) UserAddress(h *eval.Hit, address uint64) uint64 {
	if s.attached != nil {
		if n, ok := s.attached.Address(h, address); ok {
			return n
		}
	}
	return address
}

// Frames implements eval.Host.
func (s *session) Frames(stack uint64, _ bool) int {
	if s.attached == nil {
		return 0
	}
	return s.attached.Frames(stack)
}

// Word implements eval.Host.
func (s *session) Word(h *eval.Hit, function string, n int64) string {
	switch function {
	case "strerror":
		return strerror(n)
	case "signal_name":
		return cmp.Or(unix.SignalName(unix.Signal(n)), strconv.FormatInt(n, 10)) // real-time signals have no names
	case "syscall_name":
		return syscalls.Name(int(n))
	case "comm":
		return cmp.Or(proc.Live.Comm(int(n)), "N/A")
	case "ksym", "usym":
		return s.names.Symbol(uint64(n), function == "usym")
	case "fdpath":
		path, _ := proc.Live.Link(int(h.TID), fmt.Sprint("fd/", n))
		return path
	}
	if enum, ok := strings.CutPrefix(function, "enum "); ok {
		if name, ok := s.names.Enum(enum, uint64(n)); ok {
			return name
		}
	}
	return strconv.FormatInt(n, 10)
}

// strerror returns the C library's text for an error.
func strerror(n int64) string {
	if n == 0 {
		return "Success"
	}
	text := unix.Errno(n).Error()
	if n < 0 || strings.HasPrefix(text, "errno ") {
		return fmt.Sprintf("Unknown error %d", n)
	}
	for i, r := range text {
		return string(unicode.ToUpper(r)) + text[i+len(string(r)):]
	}
	return text
}

// maxCommand bounds how much of a command's output is used, in bytes.
const maxCommand = 1 << 20

// System runs a command and returns its standard output.
func (s *session) System(command string) []byte {
	_ = s.printer.Flush() // earlier output comes before the command's
	var out bytes.Buffer
	cmd := exec.Command("/bin/sh", "-c", command) // like system(3), regardless of PATH
	cmd.Stdin, cmd.Stderr = os.Stdin, s.opts.Stderr
	cmd.Stdout = &boundedWriter{w: &out, left: maxCommand}
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		fmt.Fprintf(s.opts.Stderr, "WARNING: system: %v\n", err)
	}
	return out.Bytes()
}

// boundedWriter writes the first left bytes and drops the rest.
type boundedWriter struct {
	w    io.Writer
	left int
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	keep := min(len(p), b.left)
	b.left -= keep
	_, err := b.w.Write(p[:keep])
	return len(p), err
}

// File returns the first bytes of a file, at most limit. It does not wait: for a FIFO, a terminal
// and the like, it returns what can be read now.
func (s *session) File(path string, limit int) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	b := make([]byte, limit)
	for n := 0; ; {
		more, err := unix.Read(fd, b[n:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN, err == nil && more == 0:
			return b[:n], nil
		case err != nil:
			return b[:n], &fs.PathError{Op: "read", Path: path, Err: err}
		default:
			if n += more; n == limit {
				return b, nil
			}
		}
	}
}

// Signal sends a signal to the process or the thread of a hit.
func (s *session) Signal(h *eval.Hit, number int64, name string, thread bool) error {
	sig := unix.Signal(number)
	if name != "" {
		if sig = unix.SignalNum("SIG" + strings.TrimPrefix(name, "SIG")); sig == 0 {
			return fmt.Errorf("no signal is called %s", name)
		}
	}
	if thread {
		return unix.Tgkill(int(h.PID), int(h.TID), sig)
	}
	return unix.Kill(int(h.PID), sig)
}

// Message reports something to the user, with its position in the program.
func (s *session) Message(l eval.Level, pos syntax.Pos, text string) {
	if l != eval.Error && s.opts.NoWarnings || l == eval.Debug && !s.opts.Verbose {
		return
	}
	word := "WARNING"
	if l == eval.Error {
		word = "ERROR"
		s.errors++
	}
	_ = s.printer.Flush() // earlier output comes before the message
	fmt.Fprintf(s.opts.Stderr, "%s: %s: %s\n", syntax.Place(s.parsed.Sources, pos), word, text)
}

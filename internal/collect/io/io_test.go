package io

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
)

func TestAFilterLetsThroughTheNumbersAndNoOthers(t *testing.T) {
	for _, numbers := range [][]int64{{7}, {0, 1}, {0, 1, 17, 18, 20}, {3, 5, 7, 9, 11, 13, 15, 16, 17, 300, 301}, ioNumbers()} {
		filter := anyOf("id", numbers)
		wanted := make(map[int64]bool)
		for _, n := range numbers {
			wanted[n] = true
		}
		for id := int64(-1); id < 500; id++ {
			rest, got := evaluate(t, filter, id)
			if rest != "" || got != wanted[id] {
				t.Fatalf("%s is %v for %d, rest %q", filter, got, id, rest)
			}
		}
	}
}

// evaluate evaluates a filter on one field for a value of it, as the kernel
// does: && binds closer than ||. It returns what it could not read.
func evaluate(t *testing.T, text string, id int64) (rest string, value bool) {
	t.Helper()
	rest, value = conjunction(t, text, id)
	for strings.HasPrefix(rest, " || ") {
		var next bool
		rest, next = conjunction(t, rest[4:], id)
		value = value || next
	}
	return rest, value
}

func conjunction(t *testing.T, text string, id int64) (rest string, value bool) {
	t.Helper()
	rest, value = comparison(t, text, id)
	for strings.HasPrefix(rest, " && ") {
		var next bool
		rest, next = comparison(t, rest[4:], id)
		value = value && next
	}
	return rest, value
}

func comparison(t *testing.T, text string, id int64) (rest string, value bool) {
	t.Helper()
	if inner, ok := strings.CutPrefix(text, "("); ok {
		rest, value = evaluate(t, inner, id)
		return strings.TrimPrefix(rest, ")"), value
	}
	var operator string
	var n int64
	if _, err := fmt.Sscanf(text, "id %s %d", &operator, &n); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	rest = strings.TrimPrefix(text, fmt.Sprintf("id %s %d", operator, n))
	switch operator {
	case "==":
		value = id == n
	case "<=":
		value = id <= n
	case ">=":
		value = id >= n
	case ">":
		value = id > n
	}
	return rest, value
}

// arguments are those of a system call, as its record has them.
func arguments(args ...uint64) []byte {
	var raw []byte
	for _, arg := range args {
		raw = binary.NativeEndian.AppendUint64(raw, arg)
	}
	return raw
}

func TestADescriptorIsNamedByWhatIsBehindIt(t *testing.T) {
	name := t.TempDir() + "/file"
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	sockets, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(sockets[0])
	defer unix.Close(sockets[1])
	event, err := unix.Eventfd(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(event)
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	pid := uint32(os.Getpid())
	for _, test := range []struct {
		fd         int
		kind, file string
	}{
		{int(file.Fd()), "[file]", "[" + name + "]"},
		{int(read.Fd()), "[pipe]", "[pipe]"},
		{sockets[0], "[socket]", "[socket]"},
		{event, "[eventfd]", "[eventfd]"},
		{int(null.Fd()), "[device]", "[/dev/null]"},
		{999999, "[closed]", "[closed]"},
		{-1, "[closed]", "[closed]"},
	} {
		args := arguments(uint64(test.fd))
		called := ioCalls[unix.SYS_READ]
		for by, want := range map[By]string{ByType: test.kind, ByFile: test.file, ByFD: fmt.Sprintf("[fd %d]", test.fd)} {
			if got, _ := newDescriptors(process.Host{}, by).label(pid, called, args); got != want {
				t.Errorf("descriptor %d by %s: %s, want %s", test.fd, by, got, want)
			}
		}
	}
	both, _ := newDescriptors(process.Host{}, ByType).label(pid, ioCalls[unix.SYS_SENDFILE], arguments(uint64(sockets[0]), uint64(file.Fd())))
	if both != "[file to socket]" {
		t.Errorf("sendfile: %s", both)
	}
}

// The process of these tests is gone when it is looked at: only its calls tell.
func TestOfAProcessThatIsGoneTheCallsTellTheType(t *testing.T) {
	const gone, child, read = 1 << 30, 1<<30 + 1, unix.SYS_READ
	d := newDescriptors(process.Host{}, ByFile)
	label := func(pid uint32, fd uint64) string {
		label, _ := d.label(pid, ioCalls[read], arguments(fd))
		return label
	}
	d.made(gone, unix.SYS_OPENAT, 3)
	d.made(gone, unix.SYS_SOCKET, 4)
	d.made(gone, unix.SYS_OPENAT, -2)
	d.closing(gone, unix.SYS_DUP3, arguments(4, 0))
	d.born(child, gone)
	d.closing(gone, unix.SYS_CLOSE, arguments(3))
	for _, test := range []struct {
		pid  uint32
		fd   uint64
		want string
	}{{gone, 3, "[closed]"}, {gone, 4, "[socket]"}, {gone, 0, "[socket]"}, {child, 3, "[file]"}, {child, 4, "[socket]"}, {child, 7, "[closed]"}} {
		if got := label(test.pid, test.fd); got != test.want {
			t.Errorf("descriptor %d of %d: %s, want %s", test.fd, test.pid, got, test.want)
		}
	}
	d.whole[child] = true
	d.made(child, unix.SYS_EPOLL_CREATE1, 1)
	d.made(child, unix.SYS_DUP, 2)
	d.made(child, unix.SYS_PIPE2, 0)
	if got := label(child, 1) + label(child, 2) + label(child, 5) + label(child, 6); got != "[eventpoll][closed][pipe][pipe]" {
		t.Errorf("the ends of a pipe: %s", got)
	}
	d.made(gone, unix.SYS_PIPE2, 0)
	if got := label(gone, 1); got != "[closed]" {
		t.Errorf("a pipe among descriptors that are not known: %s", got)
	}
	d.closing(gone, unix.SYS_CLOSE_RANGE, arguments(0, 100))
	if got := label(gone, 4); got != "[closed]" {
		t.Errorf("after close_range: %s", got)
	}
	d.forgetAll()
	if d.count != 0 {
		t.Errorf("%d descriptors known after all are forgotten", d.count)
	}
}

// Rows by number show nothing that would have to be looked up.
func TestDescriptorsByNumberAreNotLookedUp(t *testing.T) {
	const child = 1 << 30
	for by, want := range map[By]bool{ByFD: false, ByType: true, ByFile: true} {
		d := newDescriptors(process.Host{}, by)
		d.born(child, uint32(os.Getpid()))
		if got := d.count > 0; got != want {
			t.Errorf("by %s: %d descriptors of a process and its child are known", by, d.count)
		}
	}
}

func TestDescriptorsPastTheBoundAreLookedUpWhenTheyAreUsed(t *testing.T) {
	const other, child = 1 << 30, 1<<30 + 1
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	own := uint32(os.Getpid())
	d := newDescriptors(process.Host{}, ByFile)
	d.made(own, unix.SYS_SOCKET, 1<<20)
	for fd := range int32(maxDescriptors - 2) {
		d.set(other, fd, descriptor{word: "file"})
	}
	d.whole[other] = true
	d.born(child, other)
	if d.count != maxDescriptors || d.whole[child] || len(d.known[child]) != 1 {
		t.Errorf("%d descriptors are known, %d of a child, and it has no others: %v", d.count, len(d.known[child]), d.whole[child])
	}
	d.lookAll(own)
	d.made(other, unix.SYS_SOCKET, maxDescriptors)
	if d.count != maxDescriptors || d.whole[own] || d.whole[other] {
		t.Errorf("%d descriptors are known, want %d; processes all of whose are: %v", d.count, maxDescriptors, d.whole)
	}
	for range 2 {
		if got, _ := d.label(own, ioCalls[unix.SYS_READ], arguments(uint64(null.Fd()))); got != "[/dev/null]" {
			t.Errorf("past the bound: %s", got)
		}
	}
	d.forget(child)
	d.lookAll(own)
	if d.count != maxDescriptors {
		t.Errorf("%d descriptors are known after one has gone", d.count)
	}
}

func TestLabelsAreBounded(t *testing.T) {
	proc := t.TempDir()
	d := newDescriptors(process.Host{Proc: proc}, ByFile)
	if err := os.MkdirAll(proc+"/1/fd", 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range maxLabels {
		d.labels[[2]string{fmt.Sprint(i)}] = ""
	}
	if err := os.Symlink("/one/more", proc+"/1/fd/0"); err != nil {
		t.Fatal(err)
	}
	if got, _ := d.label(1, ioCalls[unix.SYS_READ], arguments(0)); got != otherFiles {
		t.Errorf("past the bound: %s", got)
	}
}

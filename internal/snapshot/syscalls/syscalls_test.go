package syscalls

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// memory is what lies at the addresses of a test.
type memory map[uint64][]byte

func (m memory) read(addr uint64, b []byte) int {
	for at, text := range m {
		if addr >= at && addr < at+uint64(len(text)) {
			return copy(b, text[addr-at:])
		}
	}
	return 0
}

func words(values ...uint64) (b []byte) {
	for _, v := range values {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

// number is that of a system call on this machine; -1 if it has none.
func number(name string) int {
	for n, other := range names {
		if other == name {
			return n
		}
	}
	return -1
}

func TestACallReadsAsWhatItWaitsFor(t *testing.T) {
	inet := append(binary.BigEndian.AppendUint16(binary.NativeEndian.AppendUint16(nil, unix.AF_INET), 443), 192, 0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 0)
	polls := binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, 3), uint64(0xffffffff)) // the second is left out by poll(2)
	at := memory{
		0x1000: []byte("/etc/hosts\x00rest"),
		0x2000: words(1, 500_000_000),
		0x3000: polls,
		0x4000: inet,
		0x5000: words(1<<3 | 1<<5),
		0x6000: append(binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX), "/run/x.sock\x00"...),
		0x7000: words(1<<63, 0),
		0xa000: words(unix.CLONE_VFORK),
		0x8000: []byte(strings.Repeat("x", 100)), // without an end
	}
	thread := &Thread{Memory: at.read,
		File: func(fd int) string { return map[int]string{3: "pipe 7", 4: "socket 9"}[fd] },
		Task: func(pid int) string { return map[int]string{42: "make"}[pid] }}
	minusOne := ^uint64(0)
	for _, test := range []struct {
		name string
		args [6]uint64
		want string
	}{
		{"read", [6]uint64{3, 0x9000, 1}, "read(3 → pipe 7, 1 byte)"},
		{"write", [6]uint64{9, 0x9000, 10}, "write(9, 10 bytes)"},
		{"readv", [6]uint64{4, 0x9000, 2}, "readv(4 → socket 9, 2 buffers)"},
		{"openat", [6]uint64{uint64(1<<64 - 100), 0x1000, 0}, `openat("/etc/hosts")`},
		{"openat", [6]uint64{3, 0x1000, 0}, `openat(3 → pipe 7, "/etc/hosts")`},
		{"openat", [6]uint64{3, 0x8000, 0}, `openat(3 → pipe 7, 0x8000)`},
		{"openat", [6]uint64{3, 0, 0}, `openat(3 → pipe 7, 0x0)`},
		{"connect", [6]uint64{4, 0x4000, 16}, "connect(4 → socket 9, 192.0.2.7:443)"},
		{"connect", [6]uint64{4, 0x6000, 14}, `connect(4 → socket 9, "/run/x.sock")`},
		{"connect", [6]uint64{4, 0x9000, 16}, "connect(4 → socket 9, 0x9000)"},
		{"ppoll", [6]uint64{0x3000, 2, 0x2000}, "ppoll([3 → pipe 7, … 2 in all], timeout 1.5s)"},
		{"ppoll", [6]uint64{0x3000, 1, 0}, "ppoll([3 → pipe 7], no timeout)"},
		{"ppoll", [6]uint64{0x9000, 1, 0}, "ppoll(1 file, no timeout)"},
		{"pselect6", [6]uint64{8, 0x5000, 0, 0, 0}, "pselect6([3 → pipe 7, 5], no timeout)"},
		{"epoll_pwait", [6]uint64{3, 0, 1, minusOne}, "epoll_pwait(3 → pipe 7, no timeout)"},
		{"epoll_pwait", [6]uint64{3, 0, 1, 250}, "epoll_pwait(3 → pipe 7, timeout 250ms)"},
		{"nanosleep", [6]uint64{0x2000}, "nanosleep(1.5s)"},
		{"nanosleep", [6]uint64{0x7000}, "nanosleep(for ever)"},
		{"clock_nanosleep", [6]uint64{1, 0, 0x2000}, "clock_nanosleep(1.5s)"},
		{"wait4", [6]uint64{minusOne}, "wait4(any child)"},
		{"wait4", [6]uint64{42}, "wait4(child 42 → make)"},
		{"wait4", [6]uint64{minusOne - 6}, "wait4(any child in process group 7)"},
		{"waitid", [6]uint64{unix.P_PID, 42}, "waitid(child 42 → make)"},
		{"waitid", [6]uint64{unix.P_ALL, 0}, "waitid(any child)"},
		{"futex", [6]uint64{0x9000, 128, 2, 0}, "futex(0x9000, wait, while it is 2, no timeout)"},
		{"futex", [6]uint64{0x9000, 0, 2, 0x2000}, "futex(0x9000, wait (shared between processes), while it is 2, timeout 1.5s)"},
		{"futex", [6]uint64{0x9000, 128 + 6, 0, 0}, "futex(0x9000, lock PI, no timeout)"},
		{"futex", [6]uint64{0x9000, 128 + 1, 1, 0}, "futex(0x9000, wake)"},
		{"futex", [6]uint64{0x9000, 99, 1, 0}, "futex(0x9000, 0x63)"},
		{"futex", [6]uint64{0x9000, 128 + 9, 0, 0}, "futex(0x9000, wait, while it is 0, no timeout)"},
		{"vfork", [6]uint64{}, "vfork(until the child runs a program or ends)"},
		{"clone", [6]uint64{unix.CLONE_VM | unix.CLONE_VFORK}, "clone(until the child runs a program or ends)"},
		{"clone", [6]uint64{unix.CLONE_VM}, "clone(flags 0x100)"},
		{"clone3", [6]uint64{0xa000}, "clone3(until the child runs a program or ends)"},
		{"clone3", [6]uint64{0x9000}, "clone3(0x9000)"},
		{"flock", [6]uint64{3, unix.LOCK_EX | unix.LOCK_NB}, "flock(3 → pipe 7, exclusive)"},
		{"fcntl", [6]uint64{3, unix.F_SETLKW}, "fcntl(3 → pipe 7, wait for a lock)"},
		{"rt_sigsuspend", [6]uint64{}, "rt_sigsuspend()"},
		{"getpid", [6]uint64{1, 2, 3}, "getpid(0x1, 0x2, 0x3)"},
	} {
		if number(test.name) < 0 {
			continue // of the other machine
		}
		if got := Describe(thread, number(test.name), test.args); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
	if got, want := Describe(thread, 9999, [6]uint64{}), "syscall 9999(0x0, 0x0, 0x0)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Describe(&Thread{}, number("read"), [6]uint64{3, 0, 5}); got != "read(3, 5 bytes)" {
		t.Errorf("without anything known: %s", got)
	}
}

func TestAMomentToWakeUpAtReadsAsTheTimeUntilThen(t *testing.T) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	at := memory{0x1000: words(uint64(now.Sec)+100, uint64(now.Nsec))}
	got := Describe(&Thread{Memory: at.read}, number("clock_nanosleep"), [6]uint64{unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, 0x1000})
	if !strings.HasPrefix(got, "clock_nanosleep(for 1m39.") && got != "clock_nanosleep(for 1m40s more)" {
		t.Errorf("%s; want about 1m40s", got)
	}
	const waitBitset = 9
	got = Describe(&Thread{Memory: at.read}, number("futex"), [6]uint64{0x9000, 128 + waitBitset, 2, 0x1000})
	if !strings.Contains(got, "timeout in 1m39.") && !strings.Contains(got, "timeout in 1m40s") {
		t.Errorf("%s; want about 1m40s", got)
	}
}

// The names are those of the kernel that runs, as its tracepoints have them.
func TestTheTablesNameWhatTheyDescribe(t *testing.T) {
	known := make(map[string]bool)
	for _, name := range names {
		known[name] = true
	}
	// Calls that one of the two machines lacks.
	lacking := map[string]bool{"open": true, "creat": true, "stat": true, "lstat": true, "access": true, "readlink": true, "unlink": true, "mkdir": true,
		"rmdir": true, "rename": true, "poll": true, "select": true, "epoll_wait": true, "pause": true, "vfork": true}
	for name := range calls {
		if !known[name] && !lacking[name] {
			t.Errorf("%s is no system call of this machine", name)
		}
	}
}

// Whatever the arguments point to, a description is a line.
func FuzzDescribe(f *testing.F) {
	f.Add(0, uint64(1), uint64(2), []byte("/etc/hosts"))
	f.Add(number("ppoll"), uint64(0x1000), uint64(1<<60), words(3, 4))
	f.Add(number("connect"), uint64(4), uint64(0x1000), []byte{1, 0, 0})
	f.Fuzz(func(t *testing.T, call int, a, b uint64, text []byte) {
		at := memory{0x1000: text}
		got := Describe(&Thread{Memory: at.read}, call%600, [6]uint64{a, b, b, a, a, b})
		if strings.ContainsRune(got, '\n') || !strings.HasSuffix(got, ")") {
			t.Errorf("%q", got)
		}
	})
}

func ExampleDescribe() {
	thread := &Thread{File: func(int) string { return "tcp 127.0.0.1:8080 listening" }}
	fmt.Println(Describe(thread, unix.SYS_ACCEPT, [6]uint64{3}))
	// Output: accept(3 → tcp 127.0.0.1:8080 listening)
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// bpfCall is the number of bpf(2) in one of a machine's ABIs.
type bpfCall struct{ arch, number uint32 }

// watch is one run of a program that could not call bpf(2).
type watch struct {
	code           int
	stdout, stderr string
	calls          []string // of bpf(2) that were tried
}

// errNoListener says that the kernel does not report system calls.
var errNoListener = errors.New("seccomp user notification (CONFIG_SECCOMP_FILTER, Linux 5.0)")

// runWatched runs program, which sees args[0] as its name, under a filter that
// makes bpf(2) fail with EPERM and reports each try. The filter is inherited by
// everything that the program starts, and nothing can take it off.
//
// A process of this test installs it, hands over the descriptor that reports
// (seccomp_unotify(2)), and becomes the program.
func runWatched(t *testing.T, uid uint32, program string, args ...string) watch {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := pair[0], os.NewFile(uintptr(pair[1]), "listener")
	defer unix.Close(ours)
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Args = append([]string{"bpf-watched", program}, args...)
	cmd.ExtraFiles = []*os.File{theirs}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGQUIT) } // it says where it waits
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	var w watch
	var answering sync.WaitGroup
	listener, listenErr := receive(ours)
	if listenErr == nil {
		answering.Go(func() { w.calls = answer(listener) })
	}
	_ = cmd.Wait() // how the program ended its state says
	answering.Wait()
	w.code, w.stdout, w.stderr = cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%v did not end\n%s", args, w.stderr)
	case strings.Contains(w.stderr, errNoListener.Error()):
		t.Skip(errNoListener)
	case listenErr != nil:
		t.Fatalf("%v: no filter: %v\n%s", args, listenErr, w.stderr)
	}
	return w
}

// receive takes a descriptor from a socket.
func receive(socket int) (int, error) {
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		return -1, fmt.Errorf("no descriptor came: %d messages, %v", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, fmt.Errorf("%d descriptors, %v", len(fds), err)
	}
	return fds[0], nil
}

// answer has every system call that is reported fail, until no process is left
// that has the filter, and returns who called.
func answer(listener int) (calls []string) {
	defer unix.Close(listener)
	// struct seccomp_notif and seccomp_notif_resp of include/uapi/linux/seccomp.h
	type notification struct {
		id         uint64
		pid, flags uint32
		number     int32
		arch       uint32
		ip         uint64
		args       [6]uint64
	}
	type response struct {
		id    uint64
		value int64
		err   int32
		flags uint32
	}
	for {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err == unix.EINTR {
			continue
		} else if err != nil {
			return append(calls, err.Error())
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			return calls // POLLHUP
		}
		var n notification
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno != 0 {
			continue // the caller was killed
		}
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", n.pid))
		calls = append(calls, fmt.Sprintf("%s: bpf(%d, …), system call %d of architecture %#x", bytes.TrimSpace(comm), n.args[0], n.number, n.arch))
		r := response{id: n.id, err: -int32(unix.EPERM)}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
	}
}

// becomeWatched is the process that installs the filter: its arguments are a
// file and the arguments of the program in it.
func becomeWatched() {
	runtime.LockOSThread() // the filter is the thread's, and then the program's
	const socket = 3
	listener, err := installFilter()
	if err == nil {
		err = unix.Sendmsg(socket, []byte{0}, unix.UnixRights(listener), nil, 0)
	}
	if err == nil {
		unix.CloseOnExec(listener)
		unix.CloseOnExec(socket)
		err = syscall.Exec(os.Args[1], os.Args[2:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "bpf-watched:", err)
	os.Exit(125)
}

func installFilter() (listener int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("no new privileges: %w", err)
	}
	filter := bpfFilter(bpfCalls)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return -1, fmt.Errorf("%w: %w", errNoListener, errno)
	}
	return int(fd), nil
}

// bpfFilter is the filter's program: of every system call of a list a
// notification, of all others nothing. The fields are those of struct
// seccomp_data.
func bpfFilter(calls []bpfCall) []unix.SockFilter {
	const number, arch = 0, 4
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	unlessSkip := func(value uint32, n uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: n}
	}
	result := func(value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
	}
	var program []unix.SockFilter
	for _, call := range calls {
		program = append(program, load(arch), unlessSkip(call.arch, 3),
			load(number), unlessSkip(call.number, 1), result(unix.SECCOMP_RET_USER_NOTIF))
	}
	return append(program, result(unix.SECCOMP_RET_ALLOW))
}

// callBPF is a program that does what ringtap must not.
func callBPF() {
	_, _, errno := unix.Syscall(unix.SYS_BPF, 0, 0, 0)
	fmt.Println(errno)
}

// haveBPFCalled starts that program.
func haveBPFCalled() {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"bpf-caller"}
	cmd.Stdout = os.Stdout
	if err := cmd.Run(); err != nil {
		fmt.Println(err)
	}
}

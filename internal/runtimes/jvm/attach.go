// Package jvm asks a running HotSpot virtual machine to write the map of its compiled code
// (/tmp/perf-PID.map), like jcmd PID Compiler.perfmap (JDK 17 and later).
//
//	Is → WriteMap ─┬─ .attach_pidPID, SIGQUIT: the machine starts to listen
//	               └─ .java_pidPID, a socket: the command and its answer
//
// SIGQUIT ends a program that does not handle it. So ringtap sends it only to a process that
// has mapped libjvm.so and catches the signal. It uses a pidfd, so that the signal can't reach
// another process that reuses the pid.
//
// Other users may write to the directory of these files. ringtap opens them beneath the
// process's own root, without following links, and with the rights of the process's user.
package jvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/internal/process"
)

// ErrNot is returned when a process is not a HotSpot machine, or does not catch SIGQUIT.
var ErrNot = errors.New("it is no Java virtual machine that can be asked")

// answerError is the text that the machine answered instead of obeying.
type answerError struct{ text string }

func (e *answerError) Error() string { return "the virtual machine answers " + strconv.Quote(e.text) }

// The largest answer, in bytes, and how often to look for the socket.
const (
	maxAnswer = 64 << 10
	pollEvery = 10 * time.Millisecond
)

// Is reports whether a process is a HotSpot machine that can be asked.
func Is(pid int) bool {
	host := process.Host{}
	isJVM := false
	err := host.Areas(pid, func(a *process.Area) bool {
		isJVM = isJVM || path.Base(string(a.Path)) == "libjvm.so"
		return !isJVM
	})
	return err == nil && isJVM && catchesQuit(pid)
}

// catchesQuit reports whether a process has a handler for SIGQUIT.
func catchesQuit(pid int) bool {
	status, err := process.Host{}.Status(pid)
	return err == nil && status.Caught>>(int(unix.SIGQUIT)-1)&1 != 0
}

// WriteMap makes a machine write its map, waits until it is written or ctx is done, and opens
// it. The map's text comes from the process and must not be trusted. The error wraps ErrNot if
// the process is not a HotSpot machine. It wraps an *answerError if the machine does not know
// the command.
func WriteMap(ctx context.Context, pid int) (*os.File, error) {
	file, err := writeMap(ctx, pid)
	if err != nil {
		return nil, fmt.Errorf("ask Java virtual machine %d for its map: %w", pid, err)
	}
	return file, nil
}

func writeMap(ctx context.Context, pid int) (*os.File, error) {
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(handle)
	// Everything read from here on is about the pidfd's process; otherwise SIGQUIT reaches
	// nobody.
	if !Is(pid) {
		return nil, ErrNot
	}
	type answer struct {
		file *os.File
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread gets another user's rights and ends with the goroutine
		m := machine{pid: pid, handle: handle, directory: -1}
		file, err := m.ask(ctx)
		done <- answer{file, err}
	}()
	a := <-done
	return a.file, a.err
}

// machine is a virtual machine that is asked for its map.
type machine struct {
	pid       int
	inside    int // its pid in its own namespace
	uid       uint32
	gid       uint32
	handle    int // a pidfd
	directory int // descriptor of its /tmp
}

func (m *machine) ask(ctx context.Context) (*os.File, error) {
	if err := m.identify(); err != nil {
		return nil, err
	}
	root, err := unix.Open(process.Host{}.Path(m.pid, "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open its root directory: %w", err)
	}
	defer unix.Close(root)
	// For this thread only: create files and open the socket as the machine's user.
	if err := errors.Join(unix.Setfsgid(int(m.gid)), unix.Setfsuid(int(m.uid))); err != nil {
		return nil, fmt.Errorf("take its user's rights: %w", err)
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	if m.directory, err = unix.Openat2(root, "tmp", &how); err != nil {
		return nil, fmt.Errorf("open its /tmp: %w", err)
	}
	defer unix.Close(m.directory)
	if !m.listens() {
		if err := m.wake(ctx); err != nil {
			return nil, err
		}
	}
	if err := m.command(ctx); err != nil {
		return nil, err
	}
	return m.open()
}

func (m *machine) open() (*os.File, error) {
	name := "perf-" + strconv.Itoa(m.inside) + ".map"
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(m.directory, name, &how)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != m.uid {
		unix.Close(fd)
		return nil, fmt.Errorf("open %s: it is no file of the process's user", name)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// identify finds the process's inner pid and its user.
func (m *machine) identify() error {
	host := process.Host{}
	status, err := host.Status(m.pid)
	if err != nil {
		return err
	}
	m.inside = status.NSPID
	var st unix.Stat_t
	// The owner of a process's files below /proc is its effective user.
	if err := unix.Stat(host.Path(m.pid, "status"), &st); err != nil {
		return fmt.Errorf("find its user: %w", err)
	}
	m.uid, m.gid = st.Uid, st.Gid
	if own := uint32(unix.Geteuid()); own != 0 && own != m.uid {
		return fmt.Errorf("it is user %d's: %w", m.uid, unix.EPERM)
	}
	return nil
}

func (m *machine) socket() string { return ".java_pid" + strconv.Itoa(m.inside) }

// listens reports whether the machine has its socket already.
func (m *machine) listens() bool {
	var st unix.Stat_t
	err := unix.Fstatat(m.directory, m.socket(), &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK && st.Uid == m.uid
}

// wake makes the machine create its socket.
func (m *machine) wake(ctx context.Context) error {
	name := ".attach_pid" + strconv.Itoa(m.inside)
	open := func() (int, error) {
		return unix.Openat(m.directory, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	}
	fd, err := open()
	if err == unix.EEXIST { // left by a program that was killed while it asked
		_ = unix.Unlinkat(m.directory, name, 0)
		fd, err = open()
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	unix.Close(fd)
	defer unix.Unlinkat(m.directory, name, 0)
	if !Is(m.pid) {
		return ErrNot
	}
	if err := unix.PidfdSendSignal(m.handle, unix.SIGQUIT, nil, 0); err != nil {
		return fmt.Errorf("wake it: %w", err)
	}
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for !m.listens() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for its socket: %w", ctx.Err())
		case <-ticker.C:
		}
	}
	return nil
}

// command sends the command and reads the answer: a number, 0 for success, and text.
func (m *machine) command(ctx context.Context) error {
	address := proc.Live.Descriptor(m.directory) + "/" + m.socket()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !m.listens() { // no link may have replaced it
		return ErrNot
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: address}); err != nil {
		return fmt.Errorf("open its socket: %w", err)
	}
	// The listening process must belong to the user who runs the JVM.
	if peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED); err != nil || peer.Uid != m.uid {
		return fmt.Errorf("its socket is another user's: %w", unix.EPERM)
	}
	conn, err := connOf(fd)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	// The protocol's version, the command and its three arguments.
	if _, err := io.WriteString(conn, "1\x00jcmd\x00Compiler.perfmap\x00\x00\x00"); err != nil {
		return fmt.Errorf("give the command: %w", err)
	}
	answer, err := io.ReadAll(io.LimitReader(conn, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	code, text, _ := strings.Cut(string(answer), "\n")
	if code != "0" || strings.Contains(text, "Unknown diagnostic command") {
		return &answerError{strings.TrimSpace(text)}
	}
	return nil
}

// connOf returns a connection on a duplicate of fd. The caller still owns fd.
func connOf(fd int) (net.Conn, error) {
	file, err := dup(fd)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return net.FileConn(file)
}

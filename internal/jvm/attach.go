// Package jvm asks a running HotSpot virtual machine to write the map of its compiled code
// (/tmp/perf-PID.map), as jcmd PID Compiler.perfmap does (JDK 17 and later).
//
//	Is → WriteMap ─┬─ .attach_pidPID, SIGQUIT: the machine begins to listen
//	               └─ .java_pidPID, a socket: the command and its answer
//
// SIGQUIT ends a program that does not handle it. So it is sent only to a process that has
// mapped libjvm.so and catches the signal, by a descriptor that no other process can come
// to stand behind.
//
// What is opened lies in a directory that others may write to. It is reached beneath the
// process's own root, by no link, with the rights of the process's user.
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

	"github.com/ringtap/ringtap/internal/process"
)

// ErrNot says that a process is no HotSpot machine that listens to SIGQUIT.
var ErrNot = errors.New("it is no Java virtual machine that can be asked")

// AnswerError is what the machine said instead of doing it.
type AnswerError struct{ Text string }

func (e *AnswerError) Error() string { return "the virtual machine answers " + strconv.Quote(e.Text) }

// Bounds of what a machine is waited for and listened to.
const (
	maxAnswer = 64 << 10
	pollEvery = 10 * time.Millisecond
)

// Is tells whether a process is a HotSpot machine that can be asked.
func Is(pid int) bool {
	host := process.Host{}
	isJVM := false
	err := host.Areas(pid, func(a *process.Area) bool {
		isJVM = isJVM || path.Base(string(a.Path)) == "libjvm.so"
		return !isJVM
	})
	return err == nil && isJVM && catchesQuit(pid)
}

// catchesQuit tells whether a process has a handler for SIGQUIT (proc_pid_status(5),
// SigCgt).
func catchesQuit(pid int) bool {
	status, err := process.Host{}.Read(pid, "status")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(status), "\nSigCgt:")
	line, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	return err == nil && mask>>(int(unix.SIGQUIT)-1)&1 != 0
}

// WriteMap has a machine write its map, waits until it is written or the context is done,
// and opens it. The text is the process's and not to be trusted. The error wraps ErrNot for
// another process, and an *AnswerError where the machine does not know the command.
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
	// What is read from here on is of the process behind the descriptor, or SIGQUIT
	// goes nowhere.
	if !Is(pid) {
		return nil, ErrNot
	}
	type answer struct {
		file *os.File
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread has the rights of another user, and ends
		m := machine{pid: pid, handle: handle, directory: -1}
		file, err := m.ask(ctx)
		done <- answer{file, err}
	}()
	a := <-done
	return a.file, a.err
}

// machine is one that is asked.
type machine struct {
	pid       int
	inside    int // its pid in its own namespace
	uid       uint32
	gid       uint32
	handle    int // a pidfd
	directory int // its /tmp
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
	// Of this thread alone: files are made and the socket is opened as its user.
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

// open opens the map.
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

// identify finds whose the process is.
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

// listens tells whether the machine has its socket already.
func (m *machine) listens() bool {
	var st unix.Stat_t
	err := unix.Fstatat(m.directory, m.socket(), &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK && st.Uid == m.uid
}

// wake has the machine make its socket.
func (m *machine) wake(ctx context.Context) error {
	name := ".attach_pid" + strconv.Itoa(m.inside)
	fd, err := unix.Openat(m.directory, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
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

// command gives the command and reads the answer: a number, 0 for success, and text.
func (m *machine) command(ctx context.Context) error {
	address := fmt.Sprintf("/proc/self/fd/%d/%s", m.directory, m.socket())
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !m.listens() { // no link has come in its place
		return ErrNot
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: address}); err != nil {
		return fmt.Errorf("open its socket: %w", err)
	}
	// Whoever listens must be the machine's user.
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
		return &AnswerError{strings.TrimSpace(text)}
	}
	return nil
}

// connOf makes a connection of a copy of a socket.
func connOf(fd int) (net.Conn, error) {
	file, err := dup(fd)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return net.FileConn(file)
}

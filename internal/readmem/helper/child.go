package helper

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/perfevent"
)

// child is the near-reader process, as its caller sees it.
type child struct {
	cmd      *exec.Cmd
	stdin    io.Closer // the child ends when it is closed
	memory   []byte    // shared with the child
	rings    []sharedRing
	stderr   prefixBuffer
	exited   chan struct{} // closed when the child has ended and was waited for
	messages *gob.Encoder  // to the child's standard input

	mu   sync.Mutex // guards messages and sent, and rings against unmap
	sent uint64     // messages
}

// prefixBuffer keeps the first maxPrefix bytes that are written to it.
type prefixBuffer struct{ bytes.Buffer }

const maxPrefix = 300

func (b *prefixBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxPrefix-b.Len())])
	return len(p), nil
}

// startChild runs the program again as a child, and returns when the child's threads run. The
// descriptors in setup remain the caller's: the child gets duplicates.
func startChild(setup childSetup) (*child, error) {
	c := &child{exited: make(chan struct{})}
	files, err := c.shareFiles(&setup)
	defer func() {
		for _, f := range files {
			f.Close() // the child has its own by now
		}
	}()
	if err != nil {
		return nil, err
	}
	c.cmd = exec.Command(proc.Live.Self("exe"), "near-reader")
	c.cmd.Args[0] = os.Args[0]
	c.cmd.Env = append(os.Environ(), childEnv+"=1")
	c.cmd.ExtraFiles = files
	c.cmd.Stderr = &c.stderr
	// A terminal's interrupt must reach only the caller, which then ends the child. A session
	// of its own also shows that the child does not belong to a command that ringtap started.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, errors.Join(err, c.unmap())
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, c.unmap())
	}
	c.stdin = stdin
	if err := c.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the near reader: %w", err), c.unmap())
	}
	var reply setupReply
	c.messages = gob.NewEncoder(stdin)
	err = c.messages.Encode(setup)
	if err == nil {
		err = gob.NewDecoder(stdout).Decode(&reply)
	}
	if err == nil && reply.Error != "" {
		err = errors.New(reply.Error)
	}
	if err == nil {
		go func() {
			_ = c.cmd.Wait() // ProcessState and stderr say more than this error
			close(c.exited)
		}()
		return c, nil
	}
	_ = c.stdin.Close()
	_ = c.cmd.Wait()
	return nil, errors.Join(fmt.Errorf("start the near reader: %w%s", err, c.stderrText()), c.unmap())
}

// shareFiles creates the shared memory and returns the files that the child inherits, from
// descriptor 3 on: the memory and duplicates of the rings' descriptors. It changes the
// descriptors in setup to those that the child will see.
func (c *child) shareFiles(setup *childSetup) ([]*os.File, error) {
	fd, err := unix.MemfdCreate("near", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make shared memory: %w", err)
	}
	files := []*os.File{os.NewFile(uintptr(fd), "memory")}
	size := setup.SharedBytes * len(setup.Rings)
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return files, fmt.Errorf("make shared memory: %w", err)
	}
	if c.memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return files, fmt.Errorf("map shared memory: %w", err)
	}
	for _, rings := range []*[]perfevent.RingFile{&setup.Rings, &setup.SessionRings} {
		inherited := slices.Clone(*rings)
		for i := range inherited {
			dup, err := unix.FcntlInt(uintptr(inherited[i].FD), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				return files, errors.Join(fmt.Errorf("duplicate a ring's descriptor: %w", err), c.unmap())
			}
			inherited[i].FD = sharedMemoryFD + len(files)
			files = append(files, os.NewFile(uintptr(dup), "ring"))
		}
		*rings = inherited
	}
	for i := range setup.Rings {
		c.rings = append(c.rings, newSharedRing(c.memory[i*setup.SharedBytes:(i+1)*setup.SharedBytes]))
	}
	return files, nil
}

// stderrText returns what the child wrote to its standard error, for the end of an error
// message. Call it when the child has ended.
func (c *child) stderrText() string {
	if text := bytes.TrimSpace(c.stderr.Bytes()); len(text) > 0 {
		return fmt.Sprintf(" (%q)", text)
	}
	return ""
}

// close ends the child, waits for it, and unmaps the shared memory. The error says how the
// child failed, if it did.
func (c *child) close() error {
	err := c.stdin.Close()
	<-c.exited
	// The state is nil if something else in the program reaps all children.
	if state := c.cmd.ProcessState; state == nil && c.stderr.Len() > 0 || state != nil && !state.Success() {
		err = errors.Join(err, fmt.Errorf("the near reader: %v%s", state, c.stderrText()))
	}
	return errors.Join(err, c.unmap())
}

// unmap unmaps the shared memory. Later calls do nothing.
func (c *child) unmap() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	mem := c.memory
	c.memory, c.rings = nil, nil
	if mem == nil {
		return nil
	}
	return unix.Munmap(mem)
}

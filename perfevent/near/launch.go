package near

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

	"github.com/ringtap/ringtap/perfevent"
)

// helper is the process that has the threads, seen from its caller.
type helper struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	memory  []byte
	outs    []handover
	said    beginning
	orders  *gob.Encoder
	telling sync.Mutex    // of orders and told, and of unmap
	told    uint64        // messages
	ended   chan struct{} // closed when it has
}

// beginning keeps what a helper that failed said first.
type beginning struct{ bytes.Buffer }

const beginningBytes = 300

func (b *beginning) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), beginningBytes-b.Len())])
	return len(p), nil
}

// launch starts a helper with an order. The descriptors of the order's rings are the
// caller's, who keeps them.
func launch(o order) (*helper, error) {
	h := &helper{ended: make(chan struct{})}
	files, err := h.files(&o)
	defer func() {
		for _, f := range files {
			f.Close() // the helper has its own by now
		}
	}()
	if err != nil {
		return nil, err
	}
	h.cmd = exec.Command("/proc/self/exe", "near-reader")
	h.cmd.Args[0] = os.Args[0]
	h.cmd.Env = append(os.Environ(), variable+"=1")
	h.cmd.ExtraFiles = files
	h.cmd.Stderr = &h.said
	// A terminal's interrupt is for the caller, who ends the helper. And what looks for
	// processes that a command has started tells by its session that it is none of them.
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := h.cmd.StdinPipe()
	if err != nil {
		return nil, errors.Join(err, h.unmap())
	}
	stdout, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, h.unmap())
	}
	h.stdin = stdin
	if err := h.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the near reader: %w", err), h.unmap())
	}
	var a answer
	h.orders = gob.NewEncoder(stdin)
	err = h.orders.Encode(o)
	if err == nil {
		err = gob.NewDecoder(stdout).Decode(&a)
	}
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	if err == nil {
		go func() {
			_ = h.cmd.Wait() // what it said tells more
			close(h.ended)
		}()
		return h, nil
	}
	_ = h.stdin.Close()
	_ = h.cmd.Wait()
	return nil, errors.Join(fmt.Errorf("start the near reader: %w%s", err, h.words()), h.unmap())
}

// files makes the shared memory, and the list of descriptors that the helper gets from
// number 3 on, which the order then says.
func (h *helper) files(o *order) ([]*os.File, error) {
	fd, err := unix.MemfdCreate("near", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make shared memory: %w", err)
	}
	files := []*os.File{os.NewFile(uintptr(fd), "memory")}
	size := o.Memory * len(o.Rings)
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return files, fmt.Errorf("make shared memory: %w", err)
	}
	if h.memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return files, fmt.Errorf("map shared memory: %w", err)
	}
	for _, rings := range []*[]perfevent.RingFile{&o.Rings, &o.Beside} {
		given := slices.Clone(*rings)
		for i := range given {
			dup, err := unix.FcntlInt(uintptr(given[i].FD), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				return files, errors.Join(fmt.Errorf("duplicate a ring's descriptor: %w", err), h.unmap())
			}
			given[i].FD = memoryFile + len(files)
			files = append(files, os.NewFile(uintptr(dup), "ring"))
		}
		*rings = given
	}
	for i := range o.Rings {
		h.outs = append(h.outs, newHandover(h.memory[i*o.Memory:(i+1)*o.Memory]))
	}
	return files, nil
}

// words is what a helper that has ended said, for an error.
func (h *helper) words() string {
	if text := bytes.TrimSpace(h.said.Bytes()); len(text) > 0 {
		return fmt.Sprintf(" (%q)", text)
	}
	return ""
}

// close ends the helper and waits for that.
func (h *helper) close() error {
	err := h.stdin.Close()
	<-h.ended
	// There is no state where the program reaps all children.
	if state := h.cmd.ProcessState; state == nil && h.said.Len() > 0 || state != nil && !state.Success() {
		err = errors.Join(err, fmt.Errorf("the near reader: %v%s", state, h.words()))
	}
	return errors.Join(err, h.unmap())
}

func (h *helper) unmap() error {
	h.telling.Lock()
	defer h.telling.Unlock()
	mem := h.memory
	h.memory, h.outs = nil, nil
	if mem == nil {
		return nil
	}
	return unix.Munmap(mem)
}

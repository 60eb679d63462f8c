package goroutine

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// span is a range of a process's memory to read.
type span struct {
	addr uint64
	size int
	ok   bool // set by read: the whole range was read
}

// memory reads a process's memory.
type memory interface {
	// read copies the spans into b, one after another. A span that is not readable is no error:
	// its ok is false and its bytes are undefined.
	read(spans []span, b []byte) error
}

// maxSpans is the maximum number of iovecs per call (UIO_MAXIOV, process_vm_readv(2)).
const maxSpans = 1024

// processMemory reads the memory of the process with that pid.
type processMemory int

func (pid processMemory) read(spans []span, b []byte) error {
	remote := make([]unix.RemoteIovec, 0, min(len(spans), maxSpans))
	for len(spans) > 0 {
		remote = remote[:0]
		want := 0
		for i := range spans[:min(len(spans), maxSpans)] {
			remote = append(remote, unix.RemoteIovec{Base: uintptr(spans[i].addr), Len: spans[i].size})
			want += spans[i].size
		}
		if want == 0 {
			return nil
		}
		local := [1]unix.Iovec{{Base: &b[0]}}
		local[0].SetLen(want)
		n, err := unix.ProcessVMReadv(int(pid), local[:], remote, 0)
		if err != nil && !errors.Is(err, unix.EFAULT) {
			return fmt.Errorf("read the memory of process %d: %w", int(pid), err)
		}
		n = max(n, 0)
		done := 0
		for done < len(remote) && n >= spans[done].size {
			n -= spans[done].size
			b = b[spans[done].size:]
			spans[done].ok = true
			done++
		}
		if done < len(remote) { // the span where it ended is unreadable, or partly
			b = b[spans[done].size:]
			spans[done].ok = false
			done++
		}
		spans = spans[done:]
	}
	return nil
}

// readAt reads one span and reports whether all of it was read.
func readAt(m memory, addr uint64, b []byte) (bool, error) {
	s := [1]span{{addr: addr, size: len(b)}}
	err := m.read(s[:], b)
	return s[0].ok, err
}

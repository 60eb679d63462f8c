package session

import (
	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/live"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
	"github.com/ringtap/ringtap/internal/host/kcore"
	"github.com/ringtap/ringtap/internal/host/proc"
)

// kernelMemory reads kernel memory for probes that fire in ringtap itself. It opens /proc/kcore on
// first use.
type kernelMemory struct {
	reader  *kcore.Reader
	started int   // offset of start_time in struct task_struct
	err     error // why /proc/kcore cannot be opened
	last    taskAt
	tasks   *kcore.Tasks // nil until the struct of some thread is needed
}

// maxMemory bounds how much kernel memory one value has, in bytes.
const maxMemory = 1 << 20

// open opens the kernel's memory, once.
func (k *kernelMemory) open() error {
	if k.reader == nil && k.err == nil {
		k.reader, k.err = kcore.Open(proc.Live.Name("kcore"))
	}
	return k.err
}

// close closes the kernel's memory, if it is open.
func (k *kernelMemory) close() error {
	if k.reader == nil {
		return nil
	}
	return k.reader.Close()
}

// read reads memory at an address. It returns false if it cannot read all of it.
func (k *kernelMemory) read(address uint64, b []byte) bool { return len(k.upTo(address, b)) == len(b) }

// upTo reads memory at an address, as much of it as is readable.
func (k *kernelMemory) upTo(address uint64, b []byte) []byte {
	if int64(address) >= 0 || k.open() != nil {
		return nil
	}
	n, _ := k.reader.ReadAt(b, address) // unreadable memory is zero, as in bpftrace
	return b[:n]
}

// value returns the current value of source.
func (k *kernelMemory) value(source *check.Source) value.Value { return k.at(source.Address, source) }

// at returns the current value of source, with address as the start of its path.
func (k *kernelMemory) at(address uint64, source *check.Source) value.Value {
	size := min(max(live.Size(source), 0), maxMemory)
	b := live.Follow(address, source.Path, size, func(address uint64, size int) []byte {
		return k.upTo(address, make([]byte, size))
	})
	return live.Loaded(b, source)
}

// isKernelMemory reports whether a source is memory at, or reached from, a fixed kernel address.
func isKernelMemory(s *check.Source) bool {
	return s.Root == check.SymbolRoot && !s.User && int64(s.Address) < 0 && s.Form != check.Vector &&
		(len(s.Path) > 0 || s.Form != check.Plain)
}

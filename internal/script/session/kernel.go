package session

import (
	"github.com/ringtap/ringtap/internal/kcore"
	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/live"
	"github.com/ringtap/ringtap/internal/script/value"
)

// kernelMemory is the kernel's memory as probes see it that fire in ringtap itself. The file is
// opened when something asks for it.
type kernelMemory struct {
	reader  *kcore.Reader
	started int   // where the time is in the struct of a thread at which it began
	err     error // why it can't be opened
	last    taskAt
	tasks   *kcore.Tasks // nil unless something asks for structs of threads
}

// maxMemory bounds what one value has of the kernel's memory, in bytes.
const maxMemory = 1 << 20

// open opens the kernel's memory, once.
func (k *kernelMemory) open() error {
	if k.reader == nil && k.err == nil {
		k.reader, k.err = kcore.Open("/proc/kcore")
	}
	return k.err
}

// close ends the reading.
func (k *kernelMemory) close() error {
	if k.reader == nil {
		return nil
	}
	return k.reader.Close()
}

// read reads memory at an address. It returns false unless it can read all of it.
func (k *kernelMemory) read(address uint64, b []byte) bool { return len(k.upTo(address, b)) == len(b) }

// upTo reads memory at an address, as much as there is.
func (k *kernelMemory) upTo(address uint64, b []byte) []byte {
	if int64(address) >= 0 || k.open() != nil {
		return nil
	}
	n, _ := k.reader.ReadAt(b, address) // what can't be read is zero, as in bpftrace
	return b[:n]
}

// value returns what a source reads now.
func (k *kernelMemory) value(of *check.Source) value.Value { return k.at(of.Address, of) }

// at returns what a source reads now that begins with an address.
func (k *kernelMemory) at(address uint64, of *check.Source) value.Value {
	size := min(max(live.Size(of), 0), maxMemory)
	b := live.Follow(address, of.Path, size, func(address uint64, size int) []byte {
		return k.upTo(address, make([]byte, size))
	})
	return live.Loaded(b, of)
}

// isKernelMemory tells whether a source is memory that an address of the kernel leads to.
func isKernelMemory(s *check.Source) bool {
	return s.Root == check.SymbolRoot && !s.User && int64(s.Address) < 0 && s.Form != check.Vector &&
		(len(s.Path) > 0 || s.Form != check.Plain)
}

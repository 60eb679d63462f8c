// Package kcore reads the memory of the running kernel from /proc/kcore, an ELF core file of what
// the kernel's addresses lead to (Documentation/filesystems/proc.rst). Not every kernel has the
// file (CONFIG_PROC_KCORE), lockdown may forbid it, and it takes CAP_SYS_RAWIO to open it.
package kcore

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNone says that the kernel has no /proc/kcore.
var ErrNone = errors.New("this kernel has no /proc/kcore (CONFIG_PROC_KCORE)")

// maxSegments bounds the ranges of addresses that are known. Machines have some tens of them.
const maxSegments = 1 << 16

// Reader reads the kernel's memory, as it is at the time of each call. Its methods may be called by
// several goroutines.
type Reader struct {
	file     *os.File
	segments []segment
}

// segment is a range of addresses that the file has.
type segment struct {
	address, size uint64
	offset        int64 // in the file
}

// Open opens the file, which is /proc/kcore or one like it. The caller must close the Reader. The
// error wraps ErrNone if there is no such file.
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	segments, err := parse(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return &Reader{file, segments}, nil
}

// parse returns the ranges of addresses that a core file has.
func parse(file io.ReaderAt) ([]segment, error) {
	core, err := elf.NewFile(file)
	if err != nil {
		return nil, err
	}
	if core.Class != elf.ELFCLASS64 || core.Type != elf.ET_CORE {
		return nil, fmt.Errorf("it is no core file of 64 bits, but %s of %s", core.Type, core.Class)
	}
	if len(core.Progs) > maxSegments {
		return nil, fmt.Errorf("it has %d segments", len(core.Progs))
	}
	var segments []segment
	for _, p := range core.Progs {
		size := min(p.Filesz, p.Memsz)
		if p.Type == elf.PT_LOAD && size > 0 && p.Vaddr+size-1 >= p.Vaddr && int64(p.Off) >= 0 && int64(p.Off+size) >= 0 {
			segments = append(segments, segment{p.Vaddr, size, int64(p.Off)})
		}
	}
	return segments, nil
}

// ReadAt reads memory at an address. It returns how many bytes from there on it could read; the
// error says why they are fewer than asked for. What the kernel itself can't read there is zero.
func (r *Reader) ReadAt(b []byte, address uint64) (n int, err error) {
	for n < len(b) {
		at := address + uint64(n)
		s := r.find(at)
		if s == nil {
			return n, fmt.Errorf("%s does not have address %#x", r.file.Name(), at)
		}
		within := at - s.address
		most := min(uint64(len(b)-n), s.size-within)
		read, err := r.file.ReadAt(b[n:n+int(most)], s.offset+int64(within))
		n += read
		if err != nil {
			return n, fmt.Errorf("read %s at address %#x: %w", r.file.Name(), at, err)
		}
	}
	return n, nil
}

// find returns the first segment that has an address, or nil. Segments may overlap.
func (r *Reader) find(address uint64) *segment {
	for i := range r.segments {
		if s := &r.segments[i]; address >= s.address && address-s.address < s.size {
			return s
		}
	}
	return nil
}

// Close ends the reading.
func (r *Reader) Close() error { return r.file.Close() }

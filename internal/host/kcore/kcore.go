// Package kcore reads the running kernel's memory from /proc/kcore, an ELF core file of the
// kernel's address space (Documentation/filesystems/proc.rst). Not every kernel has the file
// (CONFIG_PROC_KCORE). Lockdown may forbid it, and opening it needs CAP_SYS_RAWIO.
package kcore

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNone is returned when the kernel has no /proc/kcore.
var ErrNone = errors.New("this kernel has no /proc/kcore (CONFIG_PROC_KCORE)")

// maxSegments bounds the address ranges. Machines have a few dozen.
const maxSegments = 1 << 16

// Reader reads the kernel's memory as it is at the time of each call. Several goroutines may
// call its methods.
type Reader struct {
	file     *os.File
	segments []segment
}

// segment is a range of addresses in the file.
type segment struct {
	address, size uint64
	offset        int64 // in the file
}

// Open opens path, which is /proc/kcore or a file like it. The caller must close the Reader.
// The error wraps ErrNone if there is no such file.
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

// parse returns the address ranges in a core file.
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

// ReadAt reads memory at an address. It returns the number of bytes read before the first
// unreadable one; the error says why there are not more. Memory that the kernel itself can't
// read is zero.
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

// find returns the first segment that contains an address, or nil. Segments may overlap.
func (r *Reader) find(address uint64) *segment {
	for i := range r.segments {
		if s := &r.segments[i]; address >= s.address && address-s.address < s.size {
			return s
		}
	}
	return nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

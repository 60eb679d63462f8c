package symbols

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
)

// countingFile counts what is read of a file.
type countingFile struct {
	file *os.File
	read atomic.Int64
}

func (c *countingFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.file.ReadAt(b, off)
	c.read.Add(int64(n))
	return n, err
}

func (c *countingFile) SyscallConn() (syscall.RawConn, error) { return c.file.SyscallConn() }

// A file says that each of its sections is of some hundreds of megabytes or of
// gigabytes, and has a hole for them. Nothing reads the holes.
func TestHolesAreNotRead(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	shoff := binary.LittleEndian.Uint64(text[40:])
	size, count, names := binary.LittleEndian.Uint16(text[58:]), binary.LittleEndian.Uint16(text[60:]), binary.LittleEndian.Uint16(text[62:])
	for _, claimed := range []uint64{400 << 20, 8 << 30} {
		hostile := append([]byte(nil), text...)
		for i := range count {
			header := hostile[shoff+uint64(i)*uint64(size):]
			if i > 0 && i != names && elf.SectionType(binary.LittleEndian.Uint32(header[4:])) != elf.SHT_NULL {
				binary.LittleEndian.PutUint64(header[24:], uint64(len(text))) // where the hole begins
				binary.LittleEndian.PutUint64(header[32:], claimed)
			}
		}
		path := filepath.Join(t.TempDir(), "hostile")
		if err := os.WriteFile(path, hostile, 0o700); err != nil {
			t.Fatal(err)
		}
		total := int64(len(text)) + int64(claimed)
		if err := os.Truncate(path, total); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r := &countingFile{file: file}
		f, err := Open(r, total, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Load(); err == nil {
			t.Error("its symbols could be read")
		}
		_, _ = f.Functions()
		_, _ = f.Lines(0x1000)
		if got, most := r.read.Load(), int64(len(text))+16<<20; got > most {
			t.Errorf("of sections that are holes of %d bytes %d were read, more than the %d that there are", claimed, got, most)
		}
	}
}

package process

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestMemoryIsReadUpToThePageThatIsNotThere(t *testing.T) {
	const pages = 2*maxPages + 3
	memory, err := unix.Mmap(-1, 0, (pages+1)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	must(t, err)
	defer unix.Munmap(memory)
	for i := range memory {
		memory[i] = byte(i / page)
	}
	must(t, unix.Mprotect(memory[pages*page:], unix.PROT_NONE))
	b := make([]byte, len(memory))
	from := 100
	got := Host{}.ReadMemory(os.Getpid(), uint64(uintptr(unsafe.Pointer(&memory[from]))), b[from:])
	if got != pages*page-from {
		t.Fatalf("%d bytes are there, want %d", got, pages*page-from)
	}
	for i := from; i < pages*page; i++ {
		if b[i] != byte(i/page) {
			t.Fatalf("byte %d is %d, want %d", i, b[i], byte(i/page))
		}
	}
}

func TestMemoryOfATreeIsReadFromItsFile(t *testing.T) {
	proc := t.TempDir()
	must(t, os.Mkdir(filepath.Join(proc, "7"), 0o777))
	must(t, os.WriteFile(filepath.Join(proc, "7", "mem"), []byte("0123456789"), 0o666))
	b := make([]byte, 4)
	for at, want := range map[uint64]string{2: "2345", 8: "89", 20: ""} {
		if n := (Host{Proc: proc}).ReadMemory(7, at, b); string(b[:n]) != want {
			t.Errorf("at %d: %q, want %q", at, b[:n], want)
		}
	}
}

func TestResidentBytesAreOfProcessesThatExist(t *testing.T) {
	if own, none := (Host{}).ResidentBytes(os.Getpid()), (Host{}).ResidentBytes(1<<30); own < 1<<20 || none != 0 {
		t.Errorf("this process has %d bytes, one that does not exist %d", own, none)
	}
}

package process

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// remapping prints where the page of its function is, and copies the page to anonymous memory at
// the same address when it has read a line.
const remapping = `
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline, aligned(4096))) long copied(long n) { return n * 3; }
__attribute__((noinline, aligned(4096))) void after(void) { __asm__ volatile("" ::: "memory"); }
int main(void) {
	printf("%p\n", (void *)copied); fflush(stdout);
	while (getchar() == '\n') {
		char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(page, (void *)copied, 4096);
		mprotect(page, 4096, PROT_READ | PROT_EXEC);
		mremap(page, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)copied);
		after();
		printf("copied %ld\n", copied(14)); fflush(stdout);
	}
	return 0;
}`

// symbolOffset returns the offset of a function in an ELF file.
func symbolOffset(t *testing.T, program, name string) uint64 {
	t.Helper()
	f, err := elf.Open(program)
	must(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	must(t, err)
	for _, s := range symbols {
		for _, p := range f.Progs {
			if s.Name == name && p.Type == elf.PT_LOAD && s.Value-p.Vaddr < p.Filesz {
				return s.Value - p.Vaddr + p.Off
			}
		}
	}
	t.Fatalf("%s has no %s", program, name)
	return 0
}

func TestLiveACopyOfTextInAnonymousMemoryBelongsToItsFile(t *testing.T) {
	program := compile(t, t.TempDir(), "remapping", remapping)
	want := symbolOffset(t, program, "copied")
	c := start(t, exec.Command(program))
	address := c.address(t)
	before := NewTable(Options{})
	defer before.Close()
	must(t, before.Snapshot(c.Process.Pid))

	fmt.Fprintln(c.input)
	if line, err := c.output.ReadString('\n'); line != "copied 42\n" {
		t.Fatalf("%q, %v", line, err)
	}
	after := NewTable(Options{})
	defer after.Close()
	must(t, after.Snapshot(c.Process.Pid))
	// mremap(2) gives no record. A program that maps anonymous memory in place gives this one.
	before.Handle(&perfevent.Mmap{
		Header: header(unix.PERF_RECORD_MMAP2, perfevent.Now()),
		PID:    uint32(c.Process.Pid), TID: uint32(c.Process.Pid),
		Addr: address, Len: 4096, Prot: unix.PROT_READ | unix.PROT_EXEC, Filename: []byte("//anon"),
	})
	for name, table := range map[string]*Table{"read before the copy, and told of it by a record": before, "read after the copy": after} {
		m, ok := table.Process(c.Process.Pid).Find(address)
		if o := table.Objects()[m.Object]; !ok || o.Kind != File || o.Path != program || m.Offset+address-m.Start != want {
			t.Errorf("%s: %v at %#x (%t), want %s at %#x", name, o, m.Offset+address-m.Start, ok, program, want)
		}
	}
}

// A library that was unloaded is not meant by code that a compiler puts in its place.
func TestLiveCodeInThePlaceOfALibraryIsNotTheLibrarys(t *testing.T) {
	dir := t.TempDir()
	library := compile(t, dir, "libx.so", `int x(void) { return 42; }`, "-shared", "-fPIC")
	program := compile(t, dir, "unloading", `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
int main(int argc, char **argv) {
	void *library = dlopen(argv[1], RTLD_NOW), *x = dlsym(library, "x");
	printf("%p\n", x); fflush(stdout);
	if (getchar() != '\n') return 1;
	dlclose(library);
	mmap((void *)((uintptr_t)x & ~4095UL), 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	printf("unloaded\n"); fflush(stdout);
	return getchar() == 'x';
}`, "-ldl")
	c := start(t, exec.Command(program, library))
	address := c.address(t)
	table := NewTable(Options{})
	defer table.Close()
	must(t, table.Snapshot(c.Process.Pid))
	if path := pathAt(t, table, table.Process(c.Process.Pid), address); path != library {
		t.Fatalf("%q, want %q", path, library)
	}
	fmt.Fprintln(c.input)
	if line, err := c.output.ReadString('\n'); line != "unloaded\n" {
		t.Fatalf("%q, %v", line, err)
	}
	table.Handle(&perfevent.Mmap{
		Header: header(unix.PERF_RECORD_MMAP2, perfevent.Now()),
		PID:    uint32(c.Process.Pid), TID: uint32(c.Process.Pid),
		Addr: address &^ 4095, Len: 4096, Prot: unix.PROT_READ | unix.PROT_EXEC, Filename: []byte("//anon"),
	})
	if path := pathAt(t, table, table.Process(c.Process.Pid), address); path != "[anon]" {
		t.Errorf("%q, want [anon]", path)
	}
}

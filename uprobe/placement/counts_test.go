//go:build amd64

package placement

import (
	"debug/elf"
	"os/exec"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

const calls = `
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
	pthread_key_t key;
	pthread_key_create(&key, 0);
	int null = open("/dev/null", O_RDWR);
	char b[8];
	read(0, b, 1);
	for (int i = 0; i < 1000; i++) {
		sigset_t set;
		sem_t sem;
		void *p = malloc(10), *q;
		malloc_usable_size(i % 3 ? p : 0);
		free(i % 2 ? p : (free(p), (void *)0));
		if (posix_memalign(&q, 64, 100) == 0) free(q);
		sigemptyset(&set);
		sem_init(&sem, 0, 1);
		pthread_getspecific(key);
		read(null, b, sizeof b);
		write(null, b, sizeof b);
		close(dup(null));
		pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, 0);
	}
	_exit(0);
}`

// TestLiveEveryCallIsCountedOnceAtTheMovedPlace counts calls at both places: for
// functions of the C library whose calls are known, and for bash at work.
func TestLiveEveryCallIsCountedOnceAtTheMovedPlace(t *testing.T) {
	path := compiled.Program(t, map[string]string{"calls.c": calls}, "gcc", "-w", "-fno-builtin", "-o", "calls", "calls.c")
	for _, test := range []struct {
		name    string
		command []string
		file    string
		want    map[string]uint64 // 0: not known
	}{
		{"the C library", []string{path}, "/lib/x86_64-linux-gnu/libc.so.6", map[string]uint64{
			"__libc_free": 2500, "malloc_usable_size": 1000, "posix_memalign": 1000, "sigemptyset": 1000, "sem_init": 1000,
			"__pthread_getspecific": 1000, "read": 1000, "__write": 1000, "__close": 1000, "pthread_setcanceltype": 1000,
		}},
		{"bash", []string{"/bin/bash", "-c", "read go; for ((i = 0; i < 300; i++)); do x=${x:0:20}$i; a[i%7]=$x; [[ $x == *3* ]] && y=${x//1/2}; " +
			"case $x in (*9*) z=${a[2]};; esac; printf -v z '%s %d' \"$x\" \"$i\"; done; exit 0"}, "/bin/bash", map[string]uint64{
			"dispose_words": 0, "get_variable_value": 0, "expand_string": 0, "strmatch": 0, "internal_strmatch": 0, "xfree": 0, "array_reference": 0,
			"array_insert": 0, "dispose_redirects": 0, "merge_temporary_env": 0, "run_unwind_frame": 0, "close_fd_bitmap": 0,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			countBoth(t, test.command, test.file, test.want)
		})
	}
}

// countBoth runs a command that waits for a line with probes on both places of
// the functions that are wanted.
func countBoth(t *testing.T, command []string, file string, want map[string]uint64) {
	kind := uprobeType(t)
	cmd := exec.Command(command[0], command[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	waitFor(t, cmd.Process.Pid, command[0])
	first, moved := map[string]int{}, map[string]int{}
	for _, f := range functions(t, file) {
		if _, ok := want[f.name]; !ok {
			continue
		}
		skip, why := f.Entry()
		if skip == 0 {
			t.Logf("%s stays: %q", f.name, why)
			continue
		}
		for place, fds := range map[int]map[string]int{0: first, skip: moved} {
			fd, err := openUprobe(kind, file, fileOffset(t, file, f.Addr)+uint64(place), cmd.Process.Pid)
			if err != nil {
				t.Fatalf("%s+%#x: %v", f.name, place, err)
			}
			defer unix.Close(fd)
			fds[f.name] = fd
		}
	}
	in.Write([]byte("\n"))
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	called := 0
	for name := range moved {
		a, b := readCount(t, first[name]), readCount(t, moved[name])
		t.Logf("%s: %d hits", name, b)
		if a != b || want[name] != 0 && b != want[name] {
			t.Errorf("%s: %d hits at its first instruction, %d at the moved place, %d calls", name, a, b, want[name])
		}
		if b > 0 {
			called++
		}
	}
	if called < 5 {
		t.Errorf("only %d of the functions were called", called)
	}
}

// TestLiveGoCallsAreCountedOnce: a call that finds its stack too small comes to
// the function's first instruction twice.
func TestLiveGoCallsAreCountedOnce(t *testing.T) {
	kind := uprobeType(t)
	path := compiled.Copy(t, goProgram(t, "amd64"))
	times := testlimit.Calls(100)
	n := uint64(times)
	want := map[string]uint64{"main.Deep": n * 1001, "main.Small": n, "main.Medium": n, "main.Large": n, "main.Use": 2 * n}
	first, moved := map[string][]int{}, map[string][]int{}
	for _, f := range functions(t, path) {
		if want[f.name] == 0 {
			continue
		}
		skip, why := f.Entry()
		if skip == 0 {
			t.Errorf("%s stays: %s", f.name, why)
			continue
		}
		offset := fileOffset(t, path, f.Addr)
		first[f.name] = openEverywhere(t, kind, path, offset)
		moved[f.name] = openEverywhere(t, kind, path, offset+uint64(skip))
	}
	// On one CPU: the kernel calls the events of each CPU one after another, and
	// sees a thread that moves meanwhile twice or not at all.
	if out, err := exec.Command("taskset", "1", path, strconv.Itoa(times)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	again := uint64(0)
	for name, want := range want {
		got, before := sum(t, moved[name]), sum(t, first[name])
		t.Logf("%s: %d calls, %d hits at the first instruction, %d at the moved place", name, want, before, got)
		if got != want {
			t.Errorf("%s: %d hits for %d calls", name, got, want)
		}
		again += before - want
	}
	if again == 0 {
		t.Error("no stack has grown: nothing was tested")
	}
}

// openEverywhere opens counters for all processes, one on each CPU.
func openEverywhere(t *testing.T, kind uint32, path string, offset uint64) (fds []int) {
	t.Helper()
	for cpu := range runtime.NumCPU() {
		fd, err := openUprobeOn(kind, path, offset, -1, cpu)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		fds = append(fds, fd)
	}
	return fds
}

func sum(t *testing.T, fds []int) (n uint64) {
	t.Helper()
	for _, fd := range fds {
		n += readCount(t, fd)
	}
	return n
}

func fileOffset(t testing.TB, path string, addr uint64) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr < p.Vaddr+p.Filesz {
			return addr - p.Vaddr + p.Off
		}
	}
	t.Fatalf("%#x is not in a segment of %s", addr, path)
	return 0
}

//go:build amd64

package placement

import (
	"bytes"
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stopped is a child that stands still while its registers are set and single
// instructions of it are executed.
type stopped struct {
	pid  int
	mem  *os.File
	regs unix.PtraceRegs
	maps string
}

// stopAtTrap starts a program and lets it run until it has executed the given
// number of int3.
func stopAtTrap(t *testing.T, traps int, path string) *stopped {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	cmd := exec.Command(path)
	cmd.SysProcAttr = &unix.SysProcAttr{Ptrace: true, Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Skipf("ptrace is missing: %v", err)
	}
	s := &stopped{pid: cmd.Process.Pid}
	t.Cleanup(func() {
		unix.Kill(s.pid, unix.SIGKILL)
		unix.Wait4(s.pid, nil, 0, nil)
		s.mem.Close()
	})
	s.wait(t)
	for range traps {
		if err := unix.PtraceCont(s.pid, 0); err != nil {
			t.Fatal(err)
		}
		s.wait(t)
	}
	if err := unix.PtraceGetRegs(s.pid, &s.regs); err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", s.pid))
	if err != nil {
		t.Fatal(err)
	}
	s.maps = string(maps)
	if s.mem, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", s.pid), os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stopped) wait(t *testing.T) {
	t.Helper()
	var status unix.WaitStatus
	if _, err := unix.Wait4(s.pid, &status, 0, nil); err != nil {
		t.Fatal(err)
	}
	if !status.Stopped() || status.StopSignal() != unix.SIGTRAP {
		t.Fatalf("the child is not at a trap: %v %v", status, status.StopSignal())
	}
}

// base is the address that the file's virtual address 0 has.
func (s *stopped) base(t *testing.T, file string) uint64 {
	t.Helper()
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		t.Skip(file + " is not installed")
	}
	for _, l := range strings.Split(s.maps, "\n") {
		var start, end uint64
		if strings.HasSuffix(l, " "+real) || strings.HasSuffix(l, " /usr"+real) {
			fmt.Sscanf(l, "%x-%x", &start, &end)
			return start
		}
	}
	t.Fatalf("%s is not mapped:\n%s", real, s.maps)
	return 0
}

// move executes a function from its first instruction to the place that Entry
// names, with random registers, and compares all that a probe could read.
func (s *stopped) move(t *testing.T, f *named, at uint64, r *rand.Rand) (steps int) {
	t.Helper()
	skip, why := f.Entry()
	isGo := f.goStackCheck() > 0
	regs := s.regs
	for _, p := range []*uint64{&regs.Rax, &regs.Rbx, &regs.Rcx, &regs.Rdx, &regs.Rsi, &regs.Rdi, &regs.Rbp, &regs.R8,
		&regs.R9, &regs.R10, &regs.R11, &regs.R12, &regs.R13, &regs.R14, &regs.R15} {
		*p = r.Uint64()
	}
	const flags = 0x8d5 // OF, SF, ZF, AF, PF, CF
	regs.Eflags = regs.Eflags&^flags | r.Uint64()&flags
	regs.Orig_rax = ^uint64(0) // no system call to restart
	regs.Rsp = (s.regs.Rsp-4096)&^15 - 8
	regs.Rip = at
	stack := make([]byte, 1024)
	for i := range stack {
		stack[i] = byte(r.Uint32())
	}
	if isGo { // a goroutine whose stack has no end
		regs.R14 = regs.Rsp + 256
		clear(stack[512+256 : 512+512])
	}
	if _, err := s.mem.WriteAt(stack, int64(regs.Rsp-512)); err != nil {
		t.Fatal(err)
	}
	if err := unix.PtraceSetRegs(s.pid, &regs); err != nil {
		t.Fatal(err)
	}
	var now unix.PtraceRegs
	for now.Rip != at+uint64(skip) {
		if steps++; steps > 10 {
			t.Errorf("%s (%s): is at +%#x and not at +%#x", f.name, why, now.Rip-at, skip)
			return 0
		}
		if err := unix.PtraceSingleStep(s.pid); err != nil {
			t.Fatal(err)
		}
		s.wait(t)
		if err := unix.PtraceGetRegs(s.pid, &now); err != nil {
			t.Fatal(err)
		}
	}
	after := make([]byte, len(stack))
	if _, err := s.mem.ReadAt(after, int64(regs.Rsp-512)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stack, after) {
		t.Errorf("%s (%s): the stack has changed", f.name, why)
	}
	regs.Rip, regs.Eflags = now.Rip, now.Eflags
	if isGo {
		regs.R12 = now.R12 // the check's own
	}
	if now != regs {
		t.Errorf("%s (%s): registers are\n%+v, and were\n%+v", f.name, why, now, regs)
	}
	return steps
}

const everything = `
#include <openssl/evp.h>
#include <math.h>
#include <exception>
int main(int c, char **v) { if (c > 5) { EVP_MD_CTX_new(); std::terminate(); } asm("int3"); return 0; }
`

// TestLiveMovingChangesNothingThatAProbeReads executes, with random registers,
// the instructions that are passed over in every function that is moved.
func TestLiveMovingChangesNothingThatAProbeReads(t *testing.T) {
	const lib = "/lib/x86_64-linux-gnu/"
	dir := t.TempDir()
	goProgram(t, filepath.Join(dir, "go"), "amd64")
	if err := os.WriteFile(filepath.Join(dir, "all.cc"), []byte(everything), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("g++", "-o", filepath.Join(dir, "all"), filepath.Join(dir, "all.cc"), "-Wl,--no-as-needed", "-lcrypto", "-lm").CombinedOutput()
	if err != nil {
		t.Skipf("libcrypto's headers are not installed: %v\n%s", err, out)
	}
	for _, program := range []struct {
		path  string
		traps int
		files []string
	}{
		{filepath.Join(dir, "all"), 1, []string{lib + "libc.so.6", lib + "libcrypto.so.3", lib + "libstdc++.so.6"}},
		{"/bin/bash", 0, []string{"/bin/bash"}},
		{filepath.Join(dir, "go"), 0, []string{filepath.Join(dir, "go")}},
	} {
		t.Run(filepath.Base(program.path), func(t *testing.T) {
			s := stopAtTrap(t, program.traps, program.path)
			for _, file := range program.files {
				r := rand.New(rand.NewPCG(1, 2))
				base := uint64(0)
				if filepath.Base(file) != "go" {
					base = s.base(t, file)
				}
				moved, steps := 0, 0
				for _, f := range functions(t, file) {
					if skip, _ := f.Entry(); skip == 0 {
						continue
					}
					moved++
					for range 4 {
						steps += s.move(t, &f, base+f.Addr, r)
					}
				}
				t.Logf("%s: %d functions, %d instructions", file, moved, steps)
				if moved < 100 {
					t.Error("too few functions are moved")
				}
			}
		})
	}
}

const goSource = `package main

import ("fmt"; "os"; "strconv")

//go:noinline
func Small(a, b int) int { return len(fmt.Sprint(a, b)) }

//go:noinline
func Medium(a int) int { var buf [1000]byte; buf[a] = 1; return Use(buf[:]) }

//go:noinline
func Large(a int) int { var buf [100000]byte; buf[a] = 1; return Use(buf[:2000]) }

//go:noinline
func Use(b []byte) int { n := 0; for _, c := range b { n += int(c) + len(strconv.Itoa(int(c))) }; return n }

//go:noinline
func Deep(n int) int { var pad [64]byte; if n == 0 { return int(pad[n]) }; return Deep(n-1) + 1 }

func main() {
	if len(os.Args) > 1 {
		var b [1]byte
		os.Stdin.Read(b[:])
		for range 100 {
			done := make(chan int)
			go func() { done <- Deep(1000) + Small(1, 2) + Medium(3) + Large(4) }() // on a new, small stack
			<-done
		}
	}
}
`

func goProgram(t testing.TB, path, arch string) {
	t.Helper()
	source := path + ".go"
	if err := os.WriteFile(source, []byte(goSource), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", path, source)
	cmd.Env = append(os.Environ(), "GOARCH="+arch, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}

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
	path := filepath.Join(t.TempDir(), "calls")
	if err := os.WriteFile(path+".c", []byte(calls), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-w", "-fno-builtin", "-o", path, path+".c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
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
	path := filepath.Join(t.TempDir(), "go")
	goProgram(t, path, "amd64")
	want := map[string]uint64{"main.Deep": 100 * 1001, "main.Small": 100, "main.Medium": 100, "main.Large": 100, "main.Use": 200}
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
	cmd := exec.Command(path, "run")
	if out, err := cmd.CombinedOutput(); err != nil {
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

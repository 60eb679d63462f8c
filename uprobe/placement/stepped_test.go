//go:build amd64

package placement

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
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
	if testlimit.Emulated() {
		t.Skip(testlimit.TooSlow)
	}
	const lib = "/lib/x86_64-linux-gnu/"
	goPath := goProgram(t, "amd64")
	dir, err := compiled.Recipe{
		Sources:  map[string]string{"all.cc": everything},
		Commands: [][]string{{"g++", "-o", "all", "all.cc", "-Wl,--no-as-needed", "-lcrypto", "-lm"}},
	}.Try(t)
	if err != nil {
		t.Skipf("libcrypto's headers are not installed: %v", err)
	}
	for _, program := range []struct {
		path  string
		traps int
		files []string
	}{
		{filepath.Join(dir, "all"), 1, []string{lib + "libc.so.6", lib + "libcrypto.so.3", lib + "libstdc++.so.6"}},
		{"/bin/bash", 0, []string{"/bin/bash"}},
		{goPath, 0, []string{goPath}},
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

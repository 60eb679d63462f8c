//go:build amd64

package placement

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// uprobeType is the number of the uprobe PMU.
func uprobeType(t testing.TB) uint32 {
	t.Helper()
	text, err := os.ReadFile("/sys/bus/event_source/devices/uprobe/type")
	if err != nil {
		t.Skip("the uprobe PMU is missing")
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

// openUprobe opens a counter of the probe at a file offset for one thread. It
// must not be inherited: the kernel would read the path from the child's memory,
// and fork would fail in the program that is looked at.
func openUprobe(kind uint32, path string, offset uint64, pid int) (int, error) {
	return openUprobeOn(kind, path, offset, pid, -1)
}

func openUprobeOn(kind uint32, path string, offset uint64, pid, cpu int) (int, error) {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	attr := unix.PerfEventAttr{
		Type: kind,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Ext1: uint64(uintptr(unsafe.Pointer(name))),
		Ext2: offset,
	}
	fd, err := unix.PerfEventOpen(&attr, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	runtime.KeepAlive(name)
	return fd, err
}

func readCount(t testing.TB, fd int) uint64 {
	t.Helper()
	var b [8]byte
	if _, err := unix.Read(fd, b[:]); err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(b[:])
}

// execution is one instruction, in code that can be run.
type execution struct {
	text  string // of the assembler
	after string // undoes what it did
	// varies says that kernels differ in whether they step it.
	varies bool
	// broken says that kernels take a probe on it and then do something else.
	broken bool
}

var executions = []execution{
	{text: "nop"}, {text: "jmp 1f; 1:"}, {text: ".byte 0xe9,0,0,0,0"}, {text: "je 1f; 1:"}, {text: "jne 1f; 1:"}, {text: "jg 1f; 1:"},
	{text: ".byte 0x0f,0x84,0,0,0,0"}, {text: ".byte 0x0f,0x85,0,0,0,0"}, {text: "bnd jmp 1f; 1:"},
	{text: "call 1f; 1:", after: "pop %rcx"}, {text: "push %rax", after: "pop %rcx"}, {text: "push %rsp", after: "pop %rcx"},
	{text: "push %rbp", after: "pop %rcx"}, {text: "push %r8", after: "pop %rcx"}, {text: "push %r15", after: "pop %rcx"},
	{text: ".byte 0x40,0x55", after: "pop %rcx"}, {text: ".byte 0x48,0x50", after: "pop %rcx"}, {text: ".byte 0x66,0x50", after: "add $2,%rsp"},
	{text: "push $1", after: "pop %rcx"}, {text: "push (%rsp)", after: "pop %rcx"},
	{text: "endbr64"}, {text: "test %rdi,%rdi"}, {text: "cmp $1,%edi"}, {text: "sub $0x18,%rsp", after: "add $0x18,%rsp"},
	{text: "mov %rdi,%rax"}, {text: "xor %eax,%eax"}, {text: "lea 8(%rsp),%rax"}, {text: "ret"}, {text: "repz ret"},
	{text: "mov $39,%eax"}, {text: "movabs $1,%rax"}, {text: "mov (%rsp),%rax"}, {text: "jrcxz 1f; 1:"}, {text: "loop 1f; 1:"},
	{text: "lea 1f(%rip),%rax; jmp *%rax; 1:"}, {text: "pxor %xmm0,%xmm0"}, {text: "cmpb $0,calls(%rip)"}, {text: "bt $3,%rdi"}, {text: "pop %rcx", after: "push %rcx"},
	{text: "pause", varies: true}, {text: "nopl (%rax)", varies: true}, {text: "nopl 0(%rax,%rax,1)", varies: true}, {text: "xchg %ax,%ax", varies: true},
	{text: "lock incl -8(%rsp)"}, {text: "notrack jmp *%rax"}, {text: "ds nop"}, {text: "int3"}, {text: "int $0x80"}, {text: "syscall", broken: true},
	{text: "hlt"}, {text: "ud2"}, {text: "data16 je 1f; 1:"}, {text: "vzeroupper", broken: true}, {text: "vcmpps $0,%xmm0,%xmm0,%xmm0", broken: true}, {text: "vpbroadcastb %xmm0,%ymm0", broken: true}, {text: "vpor %xmm0,%xmm0,%xmm0", broken: true}, {text: "vpxor %xmm0,%xmm0,%xmm0"},
	{text: "vmovdqu (%rsp),%ymm0"}, {text: "vpcmpeqb (%rsp),%ymm0,%ymm1", broken: true}, {text: "vpmovmskb %ymm0,%eax"}, {text: "vmovdqu64 (%rsp),%zmm0"},
	{text: "vpternlogd $255,%zmm0,%zmm0,%zmm0"}, {text: "vpaddd %xmm0,%xmm0,%xmm0"}, {text: "mulx %rax,%rcx,%rdx"}, {text: "kmovd %eax,%k1"},
	{text: "mov %eax,%ss"}, {text: "cs nopw 0(%rax,%rax,1)"}, {text: "xbegin 1f; 1:"}, {text: "popcnt %rax,%rax"}, {text: "stac"}, {text: "sysenter", broken: true},
}

// executionsProgram builds a program that runs one of the executions when it
// gets a byte, and says whether the kernel has made its area for instructions
// executed out of line (xol_add_vma in kernel/events/uprobes.c) by then: the
// kernel makes it for the first instruction that it single-steps. It makes it for a return
// probe too, as someone may have on the host's libc: the program has a libc of its own.
func executionsProgram(t testing.TB) (path string, places []uint64, code []byte) {
	t.Helper()
	var s strings.Builder
	s.WriteString("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\nvoid table(void); extern void (*calls[])(long);\nasm(\".text\\n\"\n")
	for i, e := range executions {
		fmt.Fprintf(&s, "\"f%d: .globl f%d\\n lea -8(%%rsp),%%rax\\n p%d: .globl p%d\\n %s\\n %s\\n ret\\n\"\n", i, i, i, i, e.text, e.after)
	}
	s.WriteString("\".data\\n .balign 8\\n .globl calls\\n calls:\\n\"\n")
	for i := range executions {
		fmt.Fprintf(&s, "\".quad f%d\\n\"\n", i)
	}
	s.WriteString(`".text\n"); int main(int c, char **v) { char b; read(0, &b, 1); int n = atoi(v[1]);
	 for (int i = atoi(v[2]); i > 0; i--) calls[n](1);
	 char line[500]; FILE *m = fopen("/proc/self/maps", "r"); int xol = 0; while (fgets(line, sizeof line, m)) xol |= strstr(line, "[uprobes]") != 0;
	 puts(xol ? "stepped" : "emulated"); return 0; }`)
	path = compiled.Copy(t, compiled.Program(t, map[string]string{"executions.c": s.String()}, "gcc", "-O0", "-static", "-no-pie", "-o", "executions", "executions.c"))
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	text := f.Section(".text")
	if code, err = text.Data(); err != nil {
		t.Fatal(err)
	}
	places = make([]uint64, len(executions)+1)
	for _, s := range syms {
		var n int
		if _, err := fmt.Sscanf(s.Name, "p%d", &n); err == nil && s.Name == fmt.Sprint("p", n) {
			places[n] = s.Value - text.Addr
		}
	}
	for i := range executions { // file offsets from here on
		places[i] += text.Offset
	}
	places[len(executions)] = text.Offset
	return path, places, code
}

// run starts the program for one execution, with a probe on it, and returns
// what the kernel did, how often the probe was hit, and how the open went.
func run(t testing.TB, kind uint32, path string, place uint64, n, times int) (did string, hits uint64, refused error) {
	t.Helper()
	cmd := exec.Command(path, strconv.Itoa(n), strconv.Itoa(times))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	waitFor(t, cmd.Process.Pid, path)
	fd, err := openUprobe(kind, path, place, cmd.Process.Pid)
	if err != nil {
		cmd.Process.Kill()
		return "", 0, err
	}
	defer unix.Close(fd)
	in.Write([]byte{1})
	cmd.Wait()
	return strings.TrimSpace(out.String()), readCount(t, fd), nil
}

// waitFor returns when a new child has become the program and waits for input.
func waitFor(t testing.TB, pid int, path string) {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(testlimit.End); time.Now().Before(end); time.Sleep(time.Millisecond) {
		call, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
		link, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if link == real && strings.HasPrefix(string(call), "0 0x0 ") { // read(0)
			return
		}
	}
	t.Fatalf("%s does not wait for its input", path)
}

// TestLiveTheKernelStepsEmulatesAndRefusesAsWeSay asks the kernel about one
// instruction after the other.
func TestLiveTheKernelStepsEmulatesAndRefusesAsWeSay(t *testing.T) {
	kind := uprobeType(t)
	path, places, code := executionsProgram(t)
	answers := map[string]int{}
	for i, e := range executions {
		f := Function{Machine: elf.EM_X86_64, Code: code[places[i]-places[len(executions)]:]}
		did, hits, refused := run(t, kind, path, places[i], i, 1)
		if errors.Is(refused, unix.EACCES) || errors.Is(refused, unix.EPERM) {
			t.Skipf("uprobes are not permitted: %v", refused)
		}
		said := f.Probeable(0)
		want := "emulated"
		if f.Stepped(0) {
			want = "stepped"
		}
		t.Logf("%-34s %-9s (we: %s, %v) %v", e.text, did, want, said, refused)
		switch {
		case e.broken:
			if said == nil {
				t.Errorf("%s: we'd place a probe", e.text)
			}
		case (refused != nil) != (said != nil):
			t.Errorf("%s: the kernel says %v, and we %v", e.text, refused, said)
		case did != "" && hits != 1:
			t.Errorf("%s: hit %d times", e.text, hits)
		case did != "" && did != want && !e.varies:
			t.Errorf("%s: the kernel has %s it, and we say %s", e.text, did, want)
		}
		answers[did]++
	}
	if answers["emulated"] < 10 || answers["stepped"] < 10 || answers[""] < 5 {
		t.Errorf("too little was compared: %v", answers)
	}
}

// BenchmarkLiveHit is the time of one hit of a probe on instructions of both
// kinds, with what it takes to call them.
func BenchmarkLiveHit(b *testing.B) {
	kind := uprobeType(b)
	path, places, _ := executionsProgram(b)
	for i, e := range executions {
		switch e.text {
		case "nop", "je 1f; 1:", "push %rbp", "call 1f; 1:", "nopl 0(%rax,%rax,1)", "endbr64", "test %rdi,%rdi", "sub $0x18,%rsp", "mov %rdi,%rax", "ret":
		default:
			continue
		}
		b.Run(e.text, func(b *testing.B) {
			if _, hits, err := run(b, kind, path, places[i], i, b.N); err != nil || hits != uint64(b.N) {
				b.Fatalf("%d hits in %d calls: %v", hits, b.N, err)
			}
		})
	}
}

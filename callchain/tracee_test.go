//go:build amd64

package callchain

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// tracee is a child that is stepped instruction by instruction while a shadow
// stack is kept from the calls and returns it makes: the truth that the
// unwinder never sees.
type tracee struct {
	pid    int
	mem    *os.File
	space  *procSpace
	regs   unix.PtraceRegs
	shadow []shadowFrame // outermost first
	top    uint64        // end of the stack that is stepped on; zero: of the main thread's
	base   []Frame       // callers of the code that is stepped from on, innermost first
	stack  []byte
	done   bool
}

// startTracee starts a program that stops at its first instruction.
func startTracee(t *testing.T, env []string, path string, args ...string) *tracee {
	t.Helper()
	if testlimit.Emulated() {
		t.Skip(testlimit.TooSlow)
	}
	truth.OwnLibc(t) // a return probe of somebody else's replaces the return addresses that are followed
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	cmd := exec.Command(path, args...)
	cmd.SysProcAttr = &unix.SysProcAttr{Ptrace: true, Pdeathsig: unix.SIGKILL}
	cmd.Env = append(env, "LC_ALL=C", "LD_LIBRARY_PATH="+os.Getenv("LD_LIBRARY_PATH"))
	if err := cmd.Start(); err != nil {
		t.Skipf("ptrace is missing: %v", err)
	}
	tr := &tracee{pid: cmd.Process.Pid, space: newProcSpace(t, cmd.Process.Pid)}
	testlimit.Limit(t, cmd) // a call that it waits in is a step
	t.Cleanup(func() {
		if !tr.done {
			unix.Kill(tr.pid, unix.SIGKILL)
			unix.Wait4(tr.pid, nil, 0, nil)
		}
		if tr.mem != nil {
			tr.mem.Close()
		}
	})
	if _, err := unix.Wait4(tr.pid, nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	var err error
	if tr.mem, err = os.Open(fmt.Sprintf("/proc/%d/mem", tr.pid)); err != nil {
		t.Fatal(err)
	}
	if err = unix.PtraceGetRegs(tr.pid, &tr.regs); err == nil {
		err = tr.space.read()
	}
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// step executes one instruction and follows what it does to the chain.
func (tr *tracee) step(t *testing.T, signal unix.Signal) unix.Signal {
	t.Helper()
	before := tr.regs
	var code [16]byte
	n, _ := tr.mem.ReadAt(code[:], int64(before.Rip))
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SINGLESTEP, uintptr(tr.pid), 0, uintptr(signal), 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(tr.pid, &status, 0, nil); err != nil {
		t.Fatal(err)
	}
	if status.Exited() || status.Signaled() {
		tr.done = true
		return 0
	}
	if err := unix.PtraceGetRegs(tr.pid, &tr.regs); err != nil {
		t.Fatal(err)
	}
	if !tr.onStack() {
		return 0
	}
	sp := tr.regs.Rsp
	for len(tr.shadow) > 0 && tr.shadow[len(tr.shadow)-1].slot < sp {
		tr.shadow = tr.shadow[:len(tr.shadow)-1]
	}
	switch {
	case signal != 0: // at the handler's first instruction
		tr.shadow = append(tr.shadow,
			shadowFrame{slot: sp + 8, pc: before.Rip, exact: true}, shadowFrame{slot: sp, pc: tr.word(sp)})
	case isCall(code[:n]):
		tr.shadow = append(tr.shadow, shadowFrame{slot: sp, pc: tr.word(sp)})
	case n >= 2 && code[0] == 0x0f && code[1] == 0x05: // a system call, perhaps mmap
		if err := tr.space.read(); err != nil {
			t.Fatal(err)
		}
	}
	if s := status.StopSignal(); s != unix.SIGTRAP {
		return s
	}
	return 0
}

func (tr *tracee) word(addr uint64) uint64 {
	var b [8]byte
	tr.mem.ReadAt(b[:], int64(addr))
	return binary.LittleEndian.Uint64(b[:])
}

// isCall recognises the near calls of amd64.
func isCall(code []byte) bool {
	for len(code) > 1 && (code[0]&0xf0 == 0x40 || code[0] == 0xf2 || code[0] == 0x3e || code[0] == 0x66 || code[0] == 0x67) {
		code = code[1:] // REX, bnd, notrack, and padding by the linker
	}
	return len(code) > 1 && (code[0] == 0xe8 || code[0] == 0xff && code[1]>>3&7 == 2)
}

// capture reads what a sample would carry here.
func (tr *tracee) capture(t *testing.T, c *Capture, limit uint64) {
	t.Helper()
	r := &tr.regs
	values := []uint64{r.Rax, r.Rbx, r.Rcx, r.Rdx, r.Rsi, r.Rdi, r.Rbp, r.Rsp, r.Rip,
		r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}
	if err := c.Regs.Load(AMD64, AMD64.UserRegsMask(), values); err != nil {
		t.Fatal(err)
	}
	size := min(tr.stackTop()-r.Rsp, limit)
	if uint64(cap(tr.stack)) < size {
		tr.stack = make([]byte, size)
	}
	tr.stack = tr.stack[:size]
	n, _ := tr.mem.ReadAt(tr.stack, int64(r.Rsp))
	c.Stack = tr.stack[:n]
}

// onStack says whether the tracee runs on the stack that is stepped on.
func (tr *tracee) onStack() bool {
	return tr.top-tr.regs.Rsp < 1<<20 || tr.top == 0
}

// stop records where the tracee is.
func (tr *tracee) stop(t *testing.T, truth []Frame) recorded {
	t.Helper()
	var c Capture
	tr.capture(t, &c, 64<<10)
	r := recorded{Stack: bytes.Clone(c.Stack), Frames: truth}
	for i := range truth { // as fileSpace numbers the program
		r.Frames[i].Object = 1
	}
	for _, column := range amd64.perf {
		if column != noReg {
			r.Registers = append(r.Registers, c.Regs.v[column])
		}
	}
	return r
}

// stackTop is the address that the copied stack ends at.
func (tr *tracee) stackTop() uint64 {
	if tr.top != 0 {
		return tr.top
	}
	return tr.space.top
}

// truth is the chain that the shadow stack says.
func (tr *tracee) truth(dst []Frame) []Frame {
	dst = append(dst, shadowFrame{pc: tr.regs.Rip, exact: true}.frame(tr.space))
	for _, f := range slices.Backward(tr.shadow) {
		dst = append(dst, f.frame(tr.space))
	}
	return append(dst, tr.base...)
}

// runToTrap lets the tracee run up to its int3. The callers of the function
// that has it are taken from the unwinder, which must find as many as there
// are.
func (tr *tracee) runToTrap(t *testing.T, u *Unwinder, callers int) {
	t.Helper()
	var status unix.WaitStatus
	if err := unix.PtraceCont(tr.pid, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Wait4(tr.pid, &status, 0, nil); err != nil || status.StopSignal() != unix.SIGTRAP {
		t.Fatalf("no trap in main: status %#x, %v", status, err)
	}
	if err := unix.PtraceGetRegs(tr.pid, &tr.regs); err != nil {
		t.Fatal(err)
	}
	if err := tr.space.read(); err != nil {
		t.Fatal(err)
	}
	var c Capture
	tr.capture(t, &c, 1<<20)
	frames, end := u.Unwind(nil, tr.space, &c)
	if end != Complete || len(frames) != 1+callers {
		t.Fatalf("chain of the trap is %v:%s", end, tr.where(frames))
	}
	tr.base = frames[1:]
}

// where names the place that the tracee is at.
func (tr *tracee) where(frames []Frame) string {
	var b strings.Builder
	for _, f := range frames {
		for path, o := range tr.space.objects {
			if o.id == f.Object {
				fmt.Fprintf(&b, " %s+%#x", filepath.Base(path), f.Offset)
			}
		}
	}
	return b.String()
}

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

// shadowFrame is a caller of the code that runs.
type shadowFrame struct {
	slot  uint64 // stack address that is below rsp once the callee has returned
	pc    uint64
	exact bool // interrupted by a signal; not a return address
}

// startTracee starts a program that stops at its first instruction.
func startTracee(t *testing.T, env []string, path string, args ...string) *tracee {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	cmd := exec.Command(path, args...)
	cmd.SysProcAttr = &unix.SysProcAttr{Ptrace: true, Pdeathsig: unix.SIGKILL}
	cmd.Env = append(env, "LC_ALL=C")
	if err := cmd.Start(); err != nil {
		t.Skipf("ptrace is missing: %v", err)
	}
	tr := &tracee{pid: cmd.Process.Pid, space: newProcSpace(cmd.Process.Pid)}
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
	add := func(at uint64) {
		m, _ := tr.space.Find(at)
		dst = append(dst, Frame{Object: m.Object, Offset: at - m.Start + m.Offset})
	}
	add(tr.regs.Rip)
	for _, f := range slices.Backward(tr.shadow) {
		if f.exact {
			add(f.pc)
		} else {
			add(f.pc - 1)
		}
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

// compile builds a program from testdata with gcc.
func compile(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	path, err := exec.LookPath(compiler)
	if err != nil {
		t.Skipf("%s is missing", compiler)
	}
	program := filepath.Join(t.TempDir(), "program")
	args := append([]string{"-o", program, filepath.Join("testdata", source)}, flags...)
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, out)
	}
	return program
}

// positions counts where a program was compared.
type positions struct {
	right, wrong int
	// bare: code without any unwind information is on the stack, as the C
	// library's start-up code has none.
	bare int
	// moving: the program is replacing its stack, as longjmp and a C++ throw
	// do in their last instructions. The truth is then neither the old chain
	// nor the new one.
	moving int
}

// stepThrough compares the unwound chain with the truth before every
// instruction of a program.
func stepThrough(t *testing.T, program string, fromTrap bool) {
	t.Helper()
	const maxSteps = 400_000
	tr := startTracee(t, nil, program)
	u := New(AMD64)
	top := uint64(1<<64 - 1)
	if fromTrap {
		tr.runToTrap(t, u, 3) // two functions of libc, _start
		top = tr.regs.Rsp
	}
	var c Capture
	var got, want []Frame
	var signal unix.Signal
	var n positions
	steps := 0
	for ; !tr.done && tr.regs.Rsp <= top && steps < maxSteps; steps++ {
		var end End
		tr.capture(t, &c, 1<<20)
		got, end = u.Unwind(got[:0], tr.space, &c)
		want = tr.truth(want[:0])
		switch {
		case end == Complete && slices.Equal(got, want):
			n.right++
		case tr.moving():
			n.moving++
		case tr.bare(want):
			n.bare++
		default:
			if n.wrong++; n.wrong <= 10 {
				t.Errorf("step %d: chain is %v\n got%s\nwant%s", steps, end, tr.where(got), tr.where(want))
			}
		}
		signal = tr.step(t, signal)
	}
	t.Logf("%+v", n)
	if steps == maxSteps {
		t.Errorf("the program did not end within %d instructions", maxSteps)
	}
	if n.bare*1000 > n.right || n.moving*100 > n.right {
		t.Errorf("too many positions are excused: %+v", n)
	}
}

// bare says whether a frame is in code that its object's table does not cover.
func (tr *tracee) bare(frames []Frame) bool {
	for _, f := range frames {
		for _, o := range tr.space.objects {
			if o.id == f.Object && o.table != nil && o.table.find(f.Offset) == nil {
				return true
			}
		}
	}
	return false
}

// moving says whether the program has overwritten a return address, or is at
// an instruction whose row describes another stack than the one it is on.
func (tr *tracee) moving() bool {
	for _, f := range tr.shadow {
		if !f.exact && tr.word(f.slot) != f.pc {
			return true
		}
	}
	m, _ := tr.space.Find(tr.regs.Rip)
	if m.Table == nil {
		return false
	}
	set := m.Table.find(tr.regs.Rip - m.Start + m.Offset)
	return set != nil && (set.flags&(flagOwnSP|flagSignal) == flagOwnSP || set.ra.kind == ruleRegister)
}

func TestLiveEveryInstructionOfACProgramUnwinds(t *testing.T) {
	for name, flags := range map[string][]string{
		"without frame pointers":  {"-O2", "-fomit-frame-pointer", "-Wl,-z,lazy"},
		"with frame pointers":     {"-O2", "-fno-omit-frame-pointer", "-Wl,-z,lazy"},
		"not optimized":           {"-O0", "-Wl,-z,now"},
		"not relocatable":         {"-O2", "-no-pie", "-Wl,-z,lazy"},
		"static":                  {"-O2", "-static"},
		"only .debug_frame":       {"-O2", "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-Wl,-z,lazy"},
		"compressed .debug_frame": {"-O2", "-g", "-gz", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-Wl,-z,lazy"},
		"stripped":                {"-O2", "-s", "-Wl,-z,lazy"},
	} {
		t.Run(name, func(t *testing.T) {
			stepThrough(t, compile(t, "gcc", "chains.c", flags...), false)
		})
	}
}

func TestLiveReturnFromASignalHandlerUnwindsWithoutCallFrameInformation(t *testing.T) {
	stepThrough(t, compile(t, "gcc", "signal.c", "-O2", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector"), false)
}

// kernelChain walks the frame pointers as the kernel does
// (perf_callchain_user in arch/x86/events/core.c): no check but that the
// memory can be read.
func (tr *tracee) kernelChain(dst []uint64) []uint64 {
	dst = append(dst, tr.regs.Rip)
	for fp := tr.regs.Rbp; len(dst) < 127 && fp >= tr.regs.Rsp && fp < tr.stackTop(); fp = tr.word(fp) {
		dst = append(dst, tr.word(fp+8))
	}
	return dst
}

func TestLiveEveryInstructionsKernelChainIsRepaired(t *testing.T) {
	for name, flags := range map[string][]string{
		"every function has a frame": {"-O2", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"},
		"leaves have no frame":       {"-O2", "-fno-omit-frame-pointer", "-momit-leaf-frame-pointer"},
		"not optimized":              {"-O0"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := append(flags, "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector",
				"-fno-pie", "-no-pie", "-Wl,-z,noseparate-code,--build-id=none")
			program := compile(t, "gcc", "bare.c", flags...)
			tr := startTracee(t, nil, program)
			tr.top = tr.regs.Rsp + 64
			var stops []recorded
			u := New(AMD64)
			var c Capture
			right, repaired := 0, 0
			for !tr.done {
				tr.capture(t, &c, 64)
				c.Chain = tr.kernelChain(c.Chain[:0])
				got, end := u.FromCallchain(nil, tr.space, &c)
				want := tr.truth(nil)
				stops = append(stops, tr.stop(t, want))
				if end != Complete || !slices.Equal(got, want) {
					t.Errorf("chain is %v\n got%s\nwant%s", end, tr.where(got), tr.where(want))
				}
				right++
				if len(got) > len(c.Chain) {
					repaired++
				}
				tr.step(t, 0)
			}
			t.Logf("%d positions, %d of them repaired", right, repaired)
			if repaired == 0 {
				t.Error("no position needed a repair")
			}
			if *record && name == "leaves have no frame" {
				save(t, AMD64, program, stops)
			}
		})
	}
}

func TestLiveEveryInstructionOfExceptionsUnwinds(t *testing.T) {
	stepThrough(t, compile(t, "g++", "exceptions.cc", "-O2", "-fomit-frame-pointer", "-Wl,-z,lazy"), true)
}

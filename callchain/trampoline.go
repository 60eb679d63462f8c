package callchain

import (
	"bytes"
	"io"
)

// The code that a signal handler returns to makes the rt_sigreturn system
// call. musl and the arm64 vdso give it no call frame information; unwinders
// know it by its instructions.
var (
	// mov $15, %rax; syscall
	sigreturnAMD64 = []byte{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}
	// mov x8, #139; svc #0
	sigreturnARM64 = []byte{0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}
)

// maxScanned bounds the code that is searched for the trampoline. It is found
// in the vdso and in C libraries, which are small where it has no other
// information.
const maxScanned = 1 << 20

// addTrampolines finds the code that returns from signal handlers.
func (t *Table) addTrampolines() {
	code := sigreturnAMD64
	if t.arch == ARM64 {
		code = sigreturnARM64
	}
	for _, p := range t.code {
		if p.Filesz > maxScanned {
			continue
		}
		data, err := io.ReadAll(io.NewSectionReader(t.file.Reader, int64(p.Off), int64(p.Filesz)))
		if err != nil {
			continue
		}
		if i := bytes.Index(data, code); i > 0 {
			// The handler's return address is the first byte. One is subtracted
			// from return addresses, so that the byte before belongs to it.
			start := p.Vaddr + uint64(i)
			t.addFixed(function{source: fromTrampoline}, start-1, start+uint64(len(code)))
		}
	}
}

// Places of the interrupted registers in the signal frame at the stack pointer
// (struct rt_sigframe; asm/sigcontext.h and asm/ucontext.h of each machine).
const (
	amd64Greg = 40  // uc_mcontext, with r8 first
	arm64Greg = 312 // siginfo, then uc_mcontext.regs
)

// amd64Gregs is the order of struct sigcontext from r8 on, by column.
var amd64Gregs = [...]uint64{8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16}

// trampolineSet gives the rules of the trampoline: every register, the stack
// pointer and the pc among them, is in the signal frame.
func (b *builder) trampolineSet() uint16 {
	m := describe(b.arch)
	r := row{cfa: rule{kind: ruleValOffset, reg: m.sp}}
	if b.arch == AMD64 {
		for i, column := range amd64Gregs {
			r.set(column, rule{kind: ruleOffset, val: int32(amd64Greg + 8*i)})
		}
	} else {
		for column := range uint64(maxRegs) {
			r.set(column, rule{kind: ruleOffset, val: int32(arm64Greg + 8*column)})
		}
	}
	return b.set(&r, m.pc, flagSignal)
}

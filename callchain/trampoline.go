package callchain

import (
	"bytes"
	"debug/elf"
	"io"
	"slices"
)

// The code that a signal handler returns to makes the rt_sigreturn system
// call. musl and the arm64 vdso give it no call frame information; unwinders
// know it by its instructions.
var (
	// mov $15, %rax; syscall
	sigreturnAMD64 = []byte{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}
	// pop %eax; mov $119, %eax; int $0x80: the old sigreturn, for handlers without siginfo
	sigreturnI386 = []byte{0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}
	// mov $173, %eax; int $0x80
	rtSigreturnI386 = []byte{0xb8, 0xad, 0, 0, 0, 0xcd, 0x80}
	// mov x8, #139; svc #0
	sigreturnARM64 = []byte{0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}
)

// maxScanned bounds the code that is searched for the trampoline. It is found
// in the vdso and in C libraries, which are small where it has no other
// information.
const maxScanned = 1 << 20

// oldSigreturn is the index of i386's sigreturn among the trampolines.
const oldSigreturn = 1

// goSigreturn is the index of the Go runtime's.
const goSigreturn = 2

// trampolines is the code that returns from signal handlers. The index of each is
// function.index.
func trampolines(a Arch) [][]byte {
	switch a {
	case ARM64:
		return [][]byte{sigreturnARM64}
	case I386:
		return [][]byte{rtSigreturnI386, sigreturnI386}
	}
	return [][]byte{sigreturnAMD64}
}

// MaxSignalReturn is how many bytes of code IsSignalReturn looks at.
const MaxSignalReturn = 9

// IsSignalReturn reports whether code starts with the instructions that a signal handler returns
// to: those of the rt_sigreturn system call. C libraries without a symbol table have no name for
// them.
func IsSignalReturn(machine elf.Machine, code []byte) bool {
	arch := archOf(machine)
	return arch != 0 && slices.ContainsFunc(trampolines(arch), func(t []byte) bool { return bytes.HasPrefix(code, t) })
}

// addTrampolines finds the code that returns from signal handlers.
func (t *Table) addTrampolines() {
	for _, p := range t.code {
		if p.Filesz > maxScanned {
			continue
		}
		data, err := io.ReadAll(io.NewSectionReader(t.file.Reader, int64(p.Off), int64(p.Filesz)))
		if err != nil {
			continue
		}
		for index, code := range trampolines(t.arch) {
			if i := bytes.Index(data, code); i > 0 {
				// The handler's return address is the first byte. One is subtracted
				// from return addresses, so that the byte before belongs to it.
				start := p.Vaddr + uint64(i)
				t.addFixed(function{source: fromTrampoline, index: index}, start-1, start+uint64(len(code)))
			}
		}
	}
}

// Places of the interrupted registers in the signal frame at the stack pointer
// (struct rt_sigframe; asm/sigcontext.h and asm/ucontext.h of each machine, for i386
// arch/x86/include/asm/sigframe.h and uapi/asm/sigcontext32.h).
const (
	amd64Greg   = 40  // uc_mcontext, with r8 first
	arm64Greg   = 312 // siginfo, then uc_mcontext.regs
	i386Greg    = 176 // signal number, two pointers, siginfo, then uc_mcontext, with edi first
	i386OldGreg = 20  // signal number, then struct sigcontext
)

// amd64Gregs is the order of struct sigcontext from r8 on, by column.
var amd64Gregs = [...]uint64{8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16}

// i386Gregs is that of i386 from edi on. Behind eax come the number of the trap and
// its error.
var i386Gregs = [...]uint64{7, 6, 5, 4, 3, 2, 1, 0, maxRegs, maxRegs, 8}

// trampoline adds the rules of a trampoline: every register, the stack pointer and
// the pc among them, is in the signal frame.
func (b *builder) trampoline(f *function) {
	m := describe(b.arch)
	r := row{cfa: rule{kind: ruleValOffset, reg: m.sp}}
	save := func(first int32, columns []uint64) {
		for i, column := range columns {
			r.set(column, rule{kind: ruleOffset, val: first + int32(m.word)*int32(i)})
		}
	}
	old := b.arch == I386 && f.index == oldSigreturn
	switch {
	case b.arch == AMD64:
		save(amd64Greg, amd64Gregs[:])
	case old:
		save(i386OldGreg, i386Gregs[:])
	case b.arch == I386:
		save(i386Greg, i386Gregs[:])
	default:
		for column := range uint64(maxRegs) {
			r.set(column, rule{kind: ruleOffset, val: int32(arm64Greg + 8*column)})
		}
	}
	flags := flagSignal
	if f.index == goSigreturn {
		flags |= flagBegins
	}
	b.add(f.start, b.set(&r, m.pc, flags))
	if old { // the pop has moved the stack pointer
		r.cfa.val = -int32(m.word)
		b.add(f.start+2, b.set(&r, m.pc, flagSignal))
	}
}

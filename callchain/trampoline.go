package callchain

import (
	"bytes"
	"debug/elf"
	"io"
	"slices"

	"github.com/ringtap/ringtap/internal/arch"
)

// Signal handlers return to code that makes the rt_sigreturn system call. musl and the arm64
// vdso have no call frame information for it, so it is recognized by its instructions.
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

// maxScanned bounds the code that is searched for the trampoline, in bytes. It is in the vdso
// and in C libraries, which are small if they have no other information.
const maxScanned = 1 << 20

const oldSigreturn = 1

// goSigreturn is the index of the Go runtime's trampoline.
const goSigreturn = 2

// trampolines returns the code sequences that return from signal handlers. Their index is
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

// IsSignalReturn reports whether code starts with the instructions that a signal handler
// returns to, which make the rt_sigreturn system call. C libraries without a symbol table have
// no name for them.
func IsSignalReturn(machine elf.Machine, code []byte) bool {
	arch := archOf(machine)
	return arch != 0 && slices.ContainsFunc(trampolines(arch), func(t []byte) bool { return bytes.HasPrefix(code, t) })
}

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
				// The handler returns to the first byte. We look up return addresses minus one,
				// so the byte before must belong to it.
				start := p.Vaddr + uint64(i)
				t.addFixed(function{source: fromTrampoline, index: index}, start-1, start+uint64(len(code)))
			}
		}
	}
}

// Offsets in bytes of the interrupted registers in the signal frame at the stack pointer
// (struct rt_sigframe; asm/sigcontext.h and asm/ucontext.h of each machine, for i386
// arch/x86/include/asm/sigframe.h and uapi/asm/sigcontext32.h).
const (
	amd64Greg   = 40  // uc_mcontext, with r8 first
	arm64Greg   = 312 // siginfo, then uc_mcontext.regs
	i386Greg    = 176 // signal number, two pointers, siginfo, then uc_mcontext, with edi first
	i386OldGreg = 20  // signal number, then struct sigcontext
)

// amd64Gregs are the registers of struct sigcontext, starting with r8.
var amd64Gregs = [...]*arch.Register{
	arch.R8, arch.R9, arch.R10, arch.R11, arch.R12, arch.R13, arch.R14, arch.R15,
	arch.RDI, arch.RSI, arch.RBP, arch.RBX, arch.RDX, arch.RAX, arch.RCX, arch.RSP, arch.RIP,
}

// i386Gregs are i386's, starting with edi. The trap number and its error code follow eax.
var i386Gregs = [...]*arch.Register{
	arch.EDI, arch.ESI, arch.EBP, arch.ESP, arch.EBX, arch.EDX, arch.ECX, arch.EAX, nil, nil, arch.EIP,
}

// trampoline adds the rules of a trampoline: every register, including the stack pointer and
// the pc, is in the signal frame.
func (b *builder) trampoline(f *function) {
	m := describe(b.arch)
	r := row{cfa: rule{kind: ruleValOffset, reg: m.sp}}
	save := func(first int32, registers []*arch.Register) {
		for i, register := range registers {
			if register != nil {
				r.set(uint64(register.DWARF), rule{kind: ruleOffset, val: first + int32(m.word)*int32(i)})
			}
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

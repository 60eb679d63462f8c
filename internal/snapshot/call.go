package snapshot

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/syscalls"
)

// call puts a thread's system call in words.
func (l *look) call(t *Thread) {
	switch {
	case t.Number < 0:
	case l.compat:
		t.Call = syscalls.Describe(&l.describe, t.Number, t.Args)
	default:
		number, again := l.restarted(t)
		t.Call = syscalls.Describe(&l.describe, number, t.Args)
		if again {
			t.Call += " (restarted)"
		}
	}
}

// restarted is the number of a thread's system call, and whether the kernel has it do
// that again, by restart_syscall(2), after a signal, a debugger or a stop. The arguments
// are the same then, and which call it was the code before pc says.
func (l *look) restarted(t *Thread) (number int, again bool) {
	if t.Number != unix.SYS_RESTART_SYSCALL {
		return t.Number, false
	}
	var code [64]byte
	if l.user.read(t.pc-uint64(len(code)), code[:]) < len(code) {
		return t.Number, false
	}
	if number, ok := calledNumber(l.host().Arch(), code[:]); ok {
		return number, true
	}
	return t.Number, false
}

// calledNumber decodes a system call at the end of code with its number. On arm64 the
// compiler puts instructions between the two, but no branch.
func calledNumber(arch callchain.Arch, code []byte) (number int, ok bool) {
	switch arch {
	case callchain.AMD64: // mov $imm32, %eax; syscall
		last := code[len(code)-8:]
		return int(binary.LittleEndian.Uint32(last[2:])), last[1] == 0xb8 && last[6] == 0x0f && last[7] == 0x05
	case callchain.ARM64: // mov w8, imm16 or mov x8, imm16; …; svc 0
		at := len(code) - 4
		if binary.LittleEndian.Uint32(code[at:]) != 0xd4000001 {
			return 0, false
		}
		for at -= 4; at >= 0; at -= 4 {
			op := binary.LittleEndian.Uint32(code[at:])
			branches := op>>26&7 == 0b101 && op>>24 != 0xd5 // nop, mrs and the like do not
			switch {
			case op&0x7fe0001f == 0x52800008:
				return int(op >> 5 & 0xffff), true
			case branches, op&0x1f == 8: // another value of x8, or a store of it
				return 0, false
			}
		}
	}
	return 0, false
}

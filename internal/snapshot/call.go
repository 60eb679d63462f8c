package snapshot

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/snapshot/syscalls"
)

// call sets a description of a thread's system call.
func (l *look) call(t *Thread) {
	switch {
	case t.number < 0:
	case l.compat:
		t.Call = syscalls.Describe(&l.describe, t.number, t.args)
	default:
		number, again := l.restarted(t)
		t.Call = syscalls.Describe(&l.describe, number, t.args)
		if again {
			t.Call += " (restarted)"
		}
	}
}

// restarted returns the number of a thread's system call. again says that the kernel restarts it by
// restart_syscall(2), after a signal, a debugger or a stop. The arguments are then still those of
// the original call, and the code before pc contains its number.
func (l *look) restarted(t *Thread) (number int, again bool) {
	if t.number != unix.SYS_RESTART_SYSCALL {
		return t.number, false
	}
	var code [64]byte
	if l.user.read(t.pc-uint64(len(code)), code[:]) < len(code) {
		return t.number, false
	}
	if number, ok := calledNumber(l.host().Arch(), code[:]); ok {
		return number, true
	}
	return t.number, false
}

// calledNumber decodes the system call at the end of code and returns its number. On arm64, other
// instructions may be between the two, but no branch.
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
			branches := op>>26&7 == 0b101 && op>>24 != 0xd5 // nop, mrs and the like are no branches
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

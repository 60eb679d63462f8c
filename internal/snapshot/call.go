package snapshot

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/syscalls"
)

// call puts a thread's system call in words.
func (l *look) call(t *Thread) {
	switch {
	case t.Number < 0:
	case l.foreign:
		t.Call = fmt.Sprintf("number %d of the 32-bit system calls", t.Number)
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
	var code [8]byte
	if l.user.read(t.pc-8, code[:]) < len(code) {
		return t.Number, false
	}
	if number, ok := calledNumber(callchain.Host(), code); ok {
		return number, true
	}
	return t.Number, false
}

// calledNumber decodes a system call with its number in the instruction before.
func calledNumber(arch callchain.Arch, code [8]byte) (number int, ok bool) {
	switch arch {
	case callchain.AMD64: // mov $imm32, %eax; syscall
		return int(binary.LittleEndian.Uint32(code[2:])), code[1] == 0xb8 && code[6] == 0x0f && code[7] == 0x05
	case callchain.ARM64: // mov w8, imm16 or mov x8, imm16; svc 0
		set, call := binary.LittleEndian.Uint32(code[:]), binary.LittleEndian.Uint32(code[4:])
		return int(set >> 5 & 0xffff), set&0x7fe0001f == 0x52800008 && call == 0xd4000001
	}
	return 0, false
}

package snapshot

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/arch"
)

// registers returns the registers of a stopped thread in the form that callchain.Regs.Load takes:
// by perf's numbers.
func registers(tid int) (mask uint64, values []uint64, err error) {
	var b [512]byte
	v := unix.Iovec{Base: &b[0]}
	v.SetLen(len(b))
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(tid), uintptr(elf.NT_PRSTATUS), uintptr(unsafe.Pointer(&v)), 0, 0)
	if errno != 0 {
		return 0, nil, errno
	}
	m := arch.Here
	if v.Len == uint64(arch.I386.RegisterSet) {
		m = arch.I386
	}
	if v.Len != uint64(m.RegisterSet) {
		return 0, nil, fmt.Errorf("the kernel has %d bytes of registers", v.Len)
	}
	mask = arch.Mask(m.Registers...)
	for rest := mask; rest != 0; rest &= rest - 1 {
		word := b[m.ByPerf(bits.TrailingZeros64(rest)).Offset:]
		if m.Word == 4 {
			values = append(values, uint64(binary.NativeEndian.Uint32(word)))
		} else {
			values = append(values, binary.NativeEndian.Uint64(word))
		}
	}
	return mask, values, nil
}

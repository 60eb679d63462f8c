package snapshot

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sizes of the register set of a 64-bit and of a 32-bit program (struct user_regs_struct
// and user_regs_struct32, asm/user_64.h and asm/user32.h).
const (
	size64 = 27 * 8
	size32 = 17 * 4
)

// Where the registers are that callchain.Regs.Load takes, ax, bx, cx, dx, si, di, bp, sp,
// ip and r8 to r15, by their index in those structures.
var (
	index64 = [...]int{10, 5, 11, 12, 13, 14, 4, 19, 16, 9, 8, 7, 6, 3, 2, 1, 0}
	index32 = [...]int{6, 0, 1, 2, 3, 4, 5, 15, 12}
)

// registers are those of a stopped thread, as callchain.Regs.Load takes them: by
// number of asm/perf_regs.h.
func registers(tid int) (mask uint64, values []uint64, err error) {
	var b [size64]byte
	v := unix.Iovec{Base: &b[0]}
	v.SetLen(len(b))
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(tid), uintptr(elf.NT_PRSTATUS), uintptr(unsafe.Pointer(&v)), 0, 0)
	switch {
	case errno != 0:
		return 0, nil, errno
	case v.Len == size64:
		for _, i := range index64 {
			values = append(values, binary.LittleEndian.Uint64(b[8*i:]))
		}
		return 0xff01ff, values, nil
	case v.Len == size32:
		for _, i := range index32 {
			values = append(values, uint64(binary.LittleEndian.Uint32(b[4*i:])))
		}
		return 0x1ff, values, nil
	}
	return 0, nil, fmt.Errorf("the kernel has %d bytes of registers", v.Len)
}

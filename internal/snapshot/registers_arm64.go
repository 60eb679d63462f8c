package snapshot

import (
	"debug/elf"

	"golang.org/x/sys/unix"
)

// registers are those of a stopped thread, as callchain.Regs.Load takes them: by
// number of asm/perf_regs.h. Linux for arm64 has them as a register set alone, and not
// by PTRACE_GETREGS.
func registers(tid int) (mask uint64, values []uint64, err error) {
	var r unix.PtraceRegsArm64
	if err := unix.PtraceGetRegSetArm64(tid, int(elf.NT_PRSTATUS), &r); err != nil {
		return 0, nil, err
	}
	return 1<<33 - 1, append(r.Regs[:], r.Sp, r.Pc), nil
}

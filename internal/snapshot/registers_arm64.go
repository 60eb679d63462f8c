package snapshot

import "golang.org/x/sys/unix"

// registers are those of a stopped thread, as callchain.Regs.Load takes them: by
// number of asm/perf_regs.h.
func registers(tid int) (mask uint64, values []uint64, err error) {
	var r unix.PtraceRegsArm64
	if err := unix.PtraceGetRegsArm64(tid, &r); err != nil {
		return 0, nil, err
	}
	return 1<<33 - 1, append(r.Regs[:], r.Sp, r.Pc), nil
}

package snapshot

import "golang.org/x/sys/unix"

// registers are those of a stopped thread, as callchain.Regs.Load takes them: by
// number of asm/perf_regs.h.
func registers(tid int) (mask uint64, values []uint64, err error) {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &r); err != nil {
		return 0, nil, err
	}
	return 0xff01ff, []uint64{r.Rax, r.Rbx, r.Rcx, r.Rdx, r.Rsi, r.Rdi, r.Rbp, r.Rsp, r.Rip,
		r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}, nil
}

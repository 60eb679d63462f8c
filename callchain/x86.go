package callchain

// amd64's columns are those of the System V psABI, figure 3.36: rax, rdx, rcx,
// rbx, rsi, rdi, rbp, rsp, r8 to r15, and the return address, which is the pc.
// perf's bits are those of arch/x86/include/uapi/asm/perf_regs.h: ax, bx, cx,
// dx, si, di, bp, sp, ip, flags, six segment registers, r8 to r15.
var amd64 = machine{
	pc: 16, sp: 7, fp: 6, ra: 16, word: 8,
	perf: []uint8{0, 3, 2, 1, 4, 5, 6, 7, 16,
		noReg, noReg, noReg, noReg, noReg, noReg, noReg,
		8, 9, 10, 11, 12, 13, 14, 15},
	mask: 0xff01ff,
	// bx, bp, sp, ip, r12 to r15 (psABI, 3.2.1).
	entryMask: 1<<1 | 1<<6 | 1<<7 | 1<<8 | 0xf<<20,
	pcBit:     8, spBit: 7, fpBit: 6,
}

package callchain

// i386's columns are those of its System V psABI, table 2.14: eax, ecx, edx, ebx, esp,
// ebp, esi, edi, and the return address, which is the pc. The kernel of amd64 puts the
// registers of a 32-bit program at amd64's bits.
var i386 = machine{
	pc: 8, sp: 4, fp: 5, ra: 8, word: 4,
	perf: []uint8{0, 3, 1, 2, 6, 7, 5, 4, 8},
	mask: 0x1ff,
	// bx, si, di, bp, sp, ip (psABI, 2.2.1).
	entryMask: 1<<1 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8,
	pcBit:     8, spBit: 7, fpBit: 6,
}

// vsyscallCaller leaves a leaf whose code can't be read if that is the vdso's
// __kernel_vsyscall, as it is of most threads in a system call whose process has ended
// before its vdso could be read. It pushes ecx, edx and ebp, and the kernel returns behind
// that (arch/x86/entry/vdso/vdso32/system_call.S).
func (u *Unwinder) vsyscallCaller(s *step) (ra uint64, ok bool) {
	if u.arch != I386 || !s.leaf || !s.exact {
		return 0, false
	}
	sp := u.regs.v[i386.sp]
	fp, ok := u.mem.word(sp)
	if !ok {
		return 0, false
	}
	if ra, ok = u.mem.word(sp + 12); !ok || !u.callsVsyscall(ra) {
		return 0, false
	}
	u.regs.set(i386.fp, fp)
	u.regs.set(i386.sp, sp+16)
	*s = step{}
	return ra, true
}

// callsVsyscall says whether the instruction before a return address is the one by which
// C libraries make system calls: call *%gs:disp32.
func (u *Unwinder) callsVsyscall(ra uint64) bool {
	var call [7]byte
	p := u.lookup(u.derivation.space, versionOf(u.derivation.space), ra-1)
	if p == nil || p.frame.Offset < uint64(len(call)) {
		return false
	}
	n := u.derivation.code.ReadCode(p.frame.Object, p.frame.Offset-uint64(len(call))+1, call[:])
	return n == len(call) && call[0] == 0x65 && call[1] == 0xff && call[2] == 0x15
}

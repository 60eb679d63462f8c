package callchain

// vsyscallCaller leaves a leaf in the vdso's __kernel_vsyscall whose code can't be read. That
// happens when the process ended before ringtap read its vdso; most threads in a system call
// are there. The function pushes ecx, edx and ebp, and the kernel returns after these pushes
// (arch/x86/entry/vdso/vdso32/system_call.S).
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

// callsVsyscall reports whether the instruction before ra is the one with which C libraries
// make system calls: call *%gs:disp32.
func (u *Unwinder) callsVsyscall(ra uint64) bool {
	var call [7]byte
	p := u.lookup(u.derivation.space, versionOf(u.derivation.space), ra-1)
	if p == nil || p.frame.Offset < uint64(len(call)) {
		return false
	}
	n := u.derivation.code.ReadCode(p.frame.Object, p.frame.Offset-uint64(len(call))+1, call[:])
	return n == len(call) && call[0] == 0x65 && call[1] == 0xff && call[2] == 0x15
}

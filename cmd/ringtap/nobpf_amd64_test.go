package main

import "golang.org/x/sys/unix"

// bpfCalls are the ways in which a program of this machine can call bpf(2):
// those of 64-bit programs, of the x32 ABI and of 32-bit ones
// (arch/x86/entry/syscalls).
var bpfCalls = []bpfCall{
	{unix.AUDIT_ARCH_X86_64, unix.SYS_BPF},
	{unix.AUDIT_ARCH_X86_64, 1<<30 | unix.SYS_BPF},
	{unix.AUDIT_ARCH_I386, 357},
}

package main

import "golang.org/x/sys/unix"

// bpfCalls are the ways in which a program of this machine can call bpf(2):
// those of 64-bit programs and of 32-bit ones (arch/arm64/tools).
var bpfCalls = []bpfCall{
	{unix.AUDIT_ARCH_AARCH64, unix.SYS_BPF},
	{unix.AUDIT_ARCH_ARM, 386},
}

// Command vmrun boots kernels under QEMU and runs ringtap, a shell or the
// repository's live tests there. scripts/vm builds and starts it:
//
//	scripts/vm --kernel nobpf -- ringtap kprobe p:vfs_open
//	scripts/vm --kernel arm64 --test ./ftrace
//
// A kernel comes from Debian's archive through apt (6.1, arm64 and others), or
// is built from Debian's source with nobpf.config, which has no bpf(2). Both
// are kept in $RINGTAP_VM_CACHE, by default ~/.cache/ringtap/vm, and made anew
// where they are missing. Software emulation is enough: a guest is up within
// seconds. The guest's whole file system is put together for each run and
// lives in its memory: busybox, bash, the host's libc, ringtap, the files of
// the repository at their own paths, test binaries.
//
// Tests compile programs, and the guest has no compiler. There, the names of
// compilers and binutils are links to the guest program (./guest), which sends
// the command line and its files through a virtio port to the host, where the
// tool runs (the cross compiler, for another architecture) and its output is
// sent back. Paths are the same on both sides.
package main

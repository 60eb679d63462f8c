// Command vmrun boots kernels under QEMU and runs ringtap, a shell or the
// repository's live tests there. scripts/vm builds and starts it:
//
//	scripts/vm --kernel nobpf -- ringtap kprobe p:vfs_open
//	scripts/vm --kernel arm64 --test ./ftrace
//
// A kernel comes from Debian's archive through apt (6.1, arm64 and others), or is
// built from Debian's source with nobpf.config, which has no bpf(2). vmrun keeps
// both kinds in $RINGTAP_VM_CACHE, by default ~/.cache/ringtap/vm. Software
// emulation is enough: a guest boots within seconds. vmrun makes the guest's file
// system for each run, and the guest keeps it in memory. It contains busybox, bash,
// the host's libc, ringtap, the files of the repository at their own paths, and
// test binaries.
//
// Tests compile programs, but the guest has no compiler. There, the names of compilers
// and binutils are links to the guest program (./guest). It sends the command line and
// its files through a virtio port to the host. The host runs the tool (the cross
// compiler, for another architecture) and sends its output back. Paths are the same on
// both sides.
package main

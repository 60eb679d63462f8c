package syntax

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// headerMacros are what #include <…> defines. The types of headers are the kernel's own, but
// it does not know their macros; these are the ones that programs use. What is an enum in the
// kernel is not here.
func headerMacros() map[string]int {
	macros := map[string]int{
		"NULL": 0, "TASK_COMM_LEN": 16, "PATH_MAX": 4096, "NAME_MAX": 255, "IFNAMSIZ": 16,

		// linux/sched.h
		"TASK_RUNNING": 0, "TASK_INTERRUPTIBLE": 1, "TASK_UNINTERRUPTIBLE": 2, "__TASK_STOPPED": 4, "__TASK_TRACED": 8,
		"EXIT_DEAD": 0x10, "EXIT_ZOMBIE": 0x20, "PF_KTHREAD": 0x200000, "PF_EXITING": 4,

		// linux/socket.h
		"AF_UNSPEC": unix.AF_UNSPEC, "AF_UNIX": unix.AF_UNIX, "AF_LOCAL": unix.AF_LOCAL, "AF_INET": unix.AF_INET,
		"AF_INET6": unix.AF_INET6, "AF_NETLINK": unix.AF_NETLINK, "AF_PACKET": unix.AF_PACKET, "AF_VSOCK": unix.AF_VSOCK,
		"SOCK_STREAM": unix.SOCK_STREAM, "SOCK_DGRAM": unix.SOCK_DGRAM, "SOCK_RAW": unix.SOCK_RAW,

		// linux/stat.h
		"S_IFMT": unix.S_IFMT, "S_IFSOCK": unix.S_IFSOCK, "S_IFLNK": unix.S_IFLNK, "S_IFREG": unix.S_IFREG,
		"S_IFBLK": unix.S_IFBLK, "S_IFDIR": unix.S_IFDIR, "S_IFCHR": unix.S_IFCHR, "S_IFIFO": unix.S_IFIFO,

		// linux/fcntl.h
		"O_RDONLY": unix.O_RDONLY, "O_WRONLY": unix.O_WRONLY, "O_RDWR": unix.O_RDWR, "O_ACCMODE": unix.O_ACCMODE,
		"O_CREAT": unix.O_CREAT, "O_EXCL": unix.O_EXCL, "O_TRUNC": unix.O_TRUNC, "O_APPEND": unix.O_APPEND,
		"O_NONBLOCK": unix.O_NONBLOCK, "O_DIRECT": unix.O_DIRECT, "O_DIRECTORY": unix.O_DIRECTORY, "O_CLOEXEC": unix.O_CLOEXEC,
		"O_SYNC": unix.O_SYNC, "O_DSYNC": unix.O_DSYNC, "AT_FDCWD": unix.AT_FDCWD,

		// linux/mman.h
		"PROT_READ": unix.PROT_READ, "PROT_WRITE": unix.PROT_WRITE, "PROT_EXEC": unix.PROT_EXEC,
		"MAP_SHARED": unix.MAP_SHARED, "MAP_PRIVATE": unix.MAP_PRIVATE, "MAP_FIXED": unix.MAP_FIXED, "MAP_ANONYMOUS": unix.MAP_ANONYMOUS,
	}
	for n := 1; n < 134; n++ { // linux/errno.h
		if name := unix.ErrnoName(syscall.Errno(n)); name != "" {
			macros[name] = n
		}
	}
	for n := 1; n < 32; n++ { // linux/signal.h
		if name := unix.SignalName(syscall.Signal(n)); name != "" {
			macros[name] = n
		}
	}
	return macros
}

// defineHeaders defines the macros of headers that the program has not defined itself.
func (p *preprocessor) defineHeaders() {
	if p.headersDone {
		return
	}
	p.headersDone = true
	for name, value := range headerMacros() {
		if p.macros[name] == nil {
			p.define(token{}, newLexer("", name+" "+strconv.Itoa(value)))
		}
	}
}

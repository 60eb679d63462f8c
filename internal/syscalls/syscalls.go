package syscalls

import (
	"slices"
	"strconv"
	"strings"
)

// Name is the name of the system call with that number on this machine:
// "epoll_wait"; "syscall 999" where the number is too new to be known.
func Name(number int) string {
	return nameIn(names[:], number)
}

// Number is the number of the system call with that name on this machine, false if it has none.
func Number(name string) (number int, ok bool) {
	number = slices.Index(names[:], name)
	return number, name != "" && number >= 0
}

// CompatName is the same for a 32-bit program, whose system calls have other numbers:
// i386's or ARM's.
func CompatName(number int) string { return nameIn(compatNames[:], number) }

func nameIn(names []string, number int) string {
	if number >= 0 && number < len(names) && names[number] != "" {
		return names[number]
	}
	return "syscall " + strconv.Itoa(number)
}

// Thread is what a description needs to know about the thread. Any of its functions
// may be nil.
type Thread struct {
	// Memory reads len(b) bytes at an address, or fewer.
	Memory func(addr uint64, b []byte) int
	// File says what a file descriptor is, "" where that can't be known.
	File func(fd int) string
	// Task says who the process or thread of a pid in the caller's namespace is.
	Task func(pid int) string
	// Compat says that it is of a 32-bit program.
	Compat bool
}

// Describe is the system call in words: "read(0 → /dev/pts/3, 1024 bytes)".
func Describe(t *Thread, number int, args [6]uint64) string {
	name := Name(number)
	d := describer{t: t, args: args}
	kinds, known := calls[name]
	if t.Compat {
		name = CompatName(number)
		kinds, known, d.short = compatCall(name)
	}
	if !known {
		kinds = []kind{{"", hexadecimal}, {"", hexadecimal}, {"", hexadecimal}}
	}
	var parts []string
	for i, k := range kinds {
		if k.text == nil {
			continue
		}
		text := k.text(&d, i)
		switch {
		case text == "":
			continue
		case k.name != "":
			text = k.name + " " + text
		}
		parts = append(parts, text)
	}
	return name + "(" + strings.Join(parts, ", ") + ")"
}

// describer puts the arguments of one call in words.
type describer struct {
	t    *Thread
	args [6]uint64
	// short says that times in memory have words of 32 bits.
	short bool
}

// kind is an argument: a word before it, and how it reads. An argument without
// text is left out.
type kind struct {
	name string
	text func(d *describer, i int) string
}

// calls are the system calls that a thread may be in for long, by their arguments
// (the manual pages of section 2).
var calls = map[string][]kind{
	"accept": {file}, "accept4": {file},
	"read": {file, skip, size}, "write": {file, skip, size},
	"pread64": {file, skip, size, offset}, "pwrite64": {file, skip, size, offset},
	"readv": {file, skip, buffers}, "writev": {file, skip, buffers},
	"preadv": {file, skip, buffers, offset}, "pwritev": {file, skip, buffers, offset},
	"preadv2": {file, skip, buffers, offset}, "pwritev2": {file, skip, buffers, offset},
	"recvfrom": {file, skip, size}, "sendto": {file, skip, size},
	"recvmsg": {file}, "sendmsg": {file}, "recvmmsg": {file, skip, messages, skip, timeout}, "sendmmsg": {file, skip, messages},
	"connect":  {file, address},
	"sendfile": {{"to", fileText}, {"from", fileText}, skip, size}, "splice": {{"from", fileText}, skip, {"to", fileText}, skip, size},
	"copy_file_range": {{"from", fileText}, skip, {"to", fileText}, skip, size},
	"open":            {path}, "openat": {directory, path}, "openat2": {directory, path}, "creat": {path},
	"stat": {path}, "lstat": {path}, "fstat": {file}, "newfstatat": {directory, path}, "statx": {directory, path},
	"access": {path}, "faccessat": {directory, path}, "faccessat2": {directory, path}, "readlink": {path}, "readlinkat": {directory, path},
	"unlink": {path}, "unlinkat": {directory, path}, "mkdir": {path}, "mkdirat": {directory, path}, "rmdir": {path},
	"rename": {path, path}, "renameat": {directory, path, directory, path}, "renameat2": {directory, path, directory, path},
	"truncate": {path}, "mount": {path, path}, "umount2": {path}, "statfs": {path}, "execve": {path}, "execveat": {directory, path},
	"close": {file}, "fsync": {file}, "fdatasync": {file}, "ftruncate": {file}, "fallocate": {file}, "getdents64": {file}, "sync_file_range": {file}, "syncfs": {file},
	"ioctl": {file, {"request", hexText}}, "fcntl": {file, fcntlCommand}, "flock": {file, lockKind},
	"poll": {polled, skip, milliseconds}, "ppoll": {polled, skip, timeout},
	"select": {selected, skip, skip, skip, timeval}, "pselect6": {selected, skip, skip, skip, timeout},
	"epoll_wait": {file, skip, skip, milliseconds}, "epoll_pwait": {file, skip, skip, milliseconds}, "epoll_pwait2": {file, skip, skip, timeout},
	"io_getevents": {skip, skip, skip, skip, timeout}, "io_uring_enter": {file, {"submit", decimalText}, {"wait for", decimalText}},
	"futex": {hexArgument, futexOperation, futexValue, futexTimeout}, "futex_wait": {hexArgument, skip, skip, skip, timeout}, "futex_waitv": {skip, {"futexes", decimalText}, skip, timeout},
	"nanosleep": {duration}, "clock_nanosleep": {skip, skip, clockDuration},
	"wait4": {child}, "waitid": {idType, skip}, "pause": {}, "rt_sigsuspend": {}, "sched_yield": {},
	"rt_sigtimedwait": {skip, skip, timeout}, "restart_syscall": {interrupted}, "kill": {task, {"signal", decimalText}},
	"semop": {{"set", decimalText}}, "semtimedop": {{"set", decimalText}, skip, skip, timeout}, "msgrcv": {{"queue", decimalText}, skip, size}, "msgsnd": {{"queue", decimalText}, skip, size},
	"mq_timedreceive": {file}, "mq_timedsend": {file},
	"mmap": {hexArgument, size}, "munmap": {hexArgument, size}, "mprotect": {hexArgument, size}, "madvise": {hexArgument, size}, "msync": {hexArgument, size}, "brk": {hexArgument},
	"exit": {{"", decimalText}}, "exit_group": {{"", decimalText}}, "ptrace": {skip, task}, "process_vm_readv": {task}, "vfork": {untilChildRuns}, "clone": {cloneFlags}, "clone3": {clone3Flags}, "getrandom": {skip, size},
}

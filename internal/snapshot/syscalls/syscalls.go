package syscalls

import (
	"slices"
	"strconv"
	"strings"
)

// Name returns the name of a system call on this machine, such as "epoll_wait". For an unknown
// number it returns "syscall 999".
func Name(number int) string {
	return nameIn(names[:], number)
}

// Number returns the number of a system call on this machine. ok is false if there is none.
func Number(name string) (number int, ok bool) {
	number = slices.Index(names[:], name)
	return number, name != "" && number >= 0
}

// compatName is Name for a 32-bit program, which uses the numbers of i386 or ARM.
func compatName(number int) string { return nameIn(compatNames[:], number) }

func nameIn(names []string, number int) string {
	if number >= 0 && number < len(names) && names[number] != "" {
		return names[number]
	}
	return "syscall " + strconv.Itoa(number)
}

// Thread is what Describe needs to know about a thread. Any of its functions may be nil.
type Thread struct {
	// Memory reads up to len(b) bytes at an address and returns how many it read.
	Memory func(addr uint64, b []byte) int
	// File describes a file descriptor. It returns "" if that is unknown.
	File func(fd int) string
	// Task returns the name of the process or thread with an id in the caller's PID namespace.
	Task func(pid int) string
	// Compat says that the thread belongs to a 32-bit program.
	Compat bool
}

// Describe returns a system call in words: "read(0 → /dev/pts/3, 1024 bytes)".
func Describe(t *Thread, number int, args [6]uint64) string {
	name := Name(number)
	d := describer{t: t, args: args}
	kinds, known := calls[name]
	if t.Compat {
		name = compatName(number)
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

// describer describes the arguments of one call.
type describer struct {
	t    *Thread
	args [6]uint64
	// short says that times in memory have 32-bit words.
	short bool
}

// kind is how to describe an argument: a word before it, and its text. An argument is omitted if
// text is nil or returns "".
type kind struct {
	name string
	text func(d *describer, i int) string
}

// calls are the arguments of system calls that a thread may be in for long (see the manual pages of
// section 2).
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

package syscalls

import "strings"

// compatCalls are the system calls of 32-bit programs that are not called as those of
// 64-bit ones are.
var compatCalls = map[string]string{
	"_newselect": "select", "fcntl64": "fcntl", "mmap2": "mmap", "sendfile64": "sendfile",
	"fstatat64": "newfstatat", "stat64": "stat", "lstat64": "lstat", "fstat64": "fstat", "waitpid": "wait4",
}

// compatUnknown are those whose arguments are others than those of the 64-bit call of
// that name: one of 64 bits takes two.
var compatUnknown = map[string]bool{
	"select": true, "mmap": true, "pread64": true, "pwrite64": true, "preadv": true, "pwritev": true,
	"preadv2": true, "pwritev2": true, "fallocate": true, "sync_file_range": true, "clone": true,
}

// compatCall returns the arguments of a system call of a 32-bit program, and whether
// times are of 32 bits there. Calls that end in _time64 are those with times of 64 bits.
func compatCall(name string) (kinds []kind, known, short bool) {
	if compatUnknown[name] {
		return nil, false, false
	}
	name, long := strings.CutSuffix(name, "_time64")
	if as, ok := compatCalls[name]; ok {
		name = as
	}
	kinds, known = calls[name]
	return kinds, known, !long
}

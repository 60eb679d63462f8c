package syscalls

import "strings"

// compatCalls maps system calls of 32-bit programs to the 64-bit calls of another name.
var compatCalls = map[string]string{
	"_newselect": "select", "fcntl64": "fcntl", "mmap2": "mmap", "sendfile64": "sendfile",
	"fstatat64": "newfstatat", "stat64": "stat", "lstat64": "lstat", "fstat64": "fstat", "waitpid": "wait4",
}

// compatUnknown are calls whose arguments differ from those of the 64-bit call with the same name,
// because a 64-bit argument takes two words.
var compatUnknown = map[string]bool{
	"select": true, "mmap": true, "pread64": true, "pwrite64": true, "preadv": true, "pwritev": true,
	"preadv2": true, "pwritev2": true, "fallocate": true, "sync_file_range": true, "clone": true,
}

// compatCall returns the arguments of a 32-bit program's system call. short says that times have
// 32-bit words there. Calls whose names end in _time64 have 64-bit times.
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

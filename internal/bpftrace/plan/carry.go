package plan

import (
	"slices"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// isName reports whether a source is a text parameter that the function only reads. The text is
// then the same at the return as it was at the call.
func (p *planner) isName(s *check.Source) bool {
	if len(s.Path) > 0 || s.Form != check.Plain {
		return false
	}
	if n, ok := p.parameterOf(s); ok {
		return p.host.ReadsOnly(p.point, n)
	}
	if p.point.Provider != "uprobe" || s.Root != check.ArgRoot {
		return false
	}
	switch p.point.Args[len(p.point.Args)-1] {
	case "getaddrinfo", "rename", "link", "symlink", "setenv", "fopen", "fopen64":
		return s.N < 2
	case "gethostbyname", "gethostbyname2", "gethostbyname_r", "gethostbyname2_r",
		"getservbyname", "getpwnam", "getgrnam", "getpwnam_r", "getgrnam_r",
		"open", "open64", "creat", "stat", "stat64", "lstat", "access", "unlink", "rmdir", "mkdir", "chdir", "chmod", "chown",
		"truncate", "opendir", "readlink", "realpath",
		"execv", "execve", "execvp", "execvpe", "system", "popen",
		"dlopen", "getenv", "unsetenv", "puts", "perror", "strdup", "strlen":
		return s.N == 0
	case "openat", "openat64", "fstatat", "unlinkat", "mkdirat", "faccessat", "dlsym":
		return s.N == 1
	}
	return false
}

// parameterOf returns the index of the kernel function parameter that s is. ok is false if s is not
// a parameter.
func (p *planner) parameterOf(s *check.Source) (n int, ok bool) {
	if p.point.Provider != "kprobe" && p.point.Provider != "fentry" {
		return 0, false
	}
	switch s.Root {
	case check.ArgRoot:
		return s.N, true
	case check.FieldRoot:
		args, err := p.host.Args(p.point)
		if err != nil {
			return 0, false
		}
		n = slices.IndexFunc(args.Fields, func(f types.Field) bool { return f.Name == s.Name })
	}
	return n, n >= 0 && s.Root == check.FieldRoot
}

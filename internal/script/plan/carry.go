package plan

import (
	"github.com/ringtap/ringtap/internal/script/check"
)

// readsLater tells whether a program reads a text at an address that is not of the hit itself:
// one that it kept in a map, say.
func readsLater(prog *check.Program) bool {
	found := false
	look := func(e check.Expr) {
		if read, ok := e.(*check.Read); ok && read.Form == check.Text && read.Len == nil {
			found = true
		}
	}
	for _, clause := range prog.Clauses {
		if clause.Predicate != nil {
			check.Walk(clause.Predicate, look)
		}
		check.Walk(clause.Body, look)
	}
	for _, f := range prog.Functions {
		check.Walk(f.Body, look)
	}
	return found
}

// isName tells whether a source is a parameter that a user function takes a text from, and never
// writes to: what it points to at the call is what it points to at the return.
func (p *planner) isName(s *check.Source) bool {
	if p.point.Provider != "uprobe" || s.Root != check.ArgRoot || len(s.Path) > 0 || s.Form != check.Plain {
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

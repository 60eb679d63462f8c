// Package hermetic keeps tests independent of what they inherit from a shell: signals
// that nohup(1) ignores, the umask, limits, the locale and the time zone.
package hermetic

import (
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Set gives this process, and all that it starts, the settings that tests are written
// for. TestMain calls it before any test runs.
func Set() {
	unix.Umask(0o022)
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); isShells(name) {
			os.Unsetenv(name)
		}
	}
	os.Setenv("TZ", "UTC")
	// A signal that is ignored stays so in every child. One that is caught does not, and
	// nobody reads the channel: this process goes on as it would. Go's runtime catches all
	// signals but these two, ignored or not.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	limit(syscall.RLIMIT_NOFILE, 1<<14)
	limit(syscall.RLIMIT_STACK, 8<<20)
	limit(syscall.RLIMIT_CORE, 0)
}

// limit sets a soft limit, or the hard one where that is lower.
func limit(resource int, n uint64) {
	var is syscall.Rlimit
	if syscall.Getrlimit(resource, &is) == nil {
		is.Cur = min(n, is.Max)
		_ = syscall.Setrlimit(resource, &is)
	}
}

// isShells tells whether a variable changes what programs print, where they look for
// more, or what they run first.
func isShells(name string) bool {
	switch name {
	case "LANG", "LANGUAGE", "COLUMNS", "LINES", "ENV", "BASH_ENV", "POSIXLY_CORRECT", "DEBUGINFOD_URLS":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

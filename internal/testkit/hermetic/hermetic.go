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

// Set gives this process and its children the settings that tests are written for. TestMain
// calls it before any test runs.
func Set() {
	unix.Umask(0o022)
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); isShells(name) {
			os.Unsetenv(name)
		}
	}
	os.Setenv("TZ", "UTC")
	// Children inherit an ignored signal, but not a caught one. So these two are caught. Nobody
	// reads the channel, so this process still ignores them. Go's runtime catches all other
	// signals, even if they were ignored.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	limit(syscall.RLIMIT_NOFILE, 1<<14)
	limit(syscall.RLIMIT_STACK, 8<<20)
	limit(syscall.RLIMIT_CORE, 0)
}

// limit sets a soft limit to n, or to the hard limit if that is lower.
func limit(resource int, n uint64) {
	var is syscall.Rlimit
	if syscall.Getrlimit(resource, &is) == nil {
		is.Cur = min(n, is.Max)
		_ = syscall.Setrlimit(resource, &is)
	}
}

// isShells reports whether an environment variable changes what programs print, where they
// look for files, or what they run first.
func isShells(name string) bool {
	switch name {
	case "LANG", "LANGUAGE", "COLUMNS", "LINES", "ENV", "BASH_ENV", "POSIXLY_CORRECT", "DEBUGINFOD_URLS":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

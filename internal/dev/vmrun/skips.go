package main

import (
	"regexp"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// skips are the reasons for which a test may be skipped in a guest. Any other skip is a
// failure, because a facility that a kernel is known to have must be tested there. Both
// patterns match the whole text.
var skips = []struct {
	kernel string // pattern of the kernel's name
	reason string
}{
	{`.*`, regexp.QuoteMeta(testlimit.TooSlow)},
	{`.*`, regexp.QuoteMeta(testlimit.TooUneven)},
	{`nobpf`, `no swap on loop devices|no huge pages to ask for|CONFIG_VM_EVENT_COUNTERS`},
	{`.*`, `the folder for temporary files is not on ext4`},
	{`.*`, `what differs between machines is in the files`},
	{`[56n].*|arm64.*`, `text of \S+: the tracepoint does not record it \(Linux 6\.19 and later do\)`},
	{`5.*|6\.1(-rt)?|nobpf|arm64(-pmu)?`, `Linux before 6\.12 loses hits of forked children`},
	{`5.*`, `Linux before 5\.13 sends no signal at each sample`},
	{`nobpf`, `CONFIG_DEBUG_INFO_BTF`},
	{`nobpf`, `this kernel has no /proc/kcore \(CONFIG_PROC_KCORE\)`},
	{`5.*`, `this kernel has no event probes .*`},
	{`nobpf|arm64.*`, `no variables in /proc/kallsyms \(CONFIG_KALLSYMS_ALL\)`},
	{`[5-7n].*|arm64(-6\.12)?`, `no hardware counters`},
	{`arm64.*`, `no msr PMU|arm64 has no static calls`},
	{`.*`, `the CPU has no AVX`}, // the CPU of an emulator
	{`.*`, `no library for TLS is installed`},
	// Allocators belong to the host, not to the kernel. The host's own live tests use them.
	{`.*`, `(musl-gcc|libjemalloc\.so\.2|libtcmalloc_minimal\.so\.4) is not installed`},
	// So do traced programs, and util-linux's script, which makes a terminal.
	{`.*`, `(openssl|javac?|node|php|ruby|perl|python3?(\.\d+)*|python3-greenlet|script) is not installed`},
	{`.*`, `none of python3, php, perl, ruby is installed|no Ruby with YJIT is installed|java of other releases is not installed: .*`},
	{`arm64.*`, `there are no 32-bit programs for arm64`},
	{`arm64.*`, `rustc is not installed`}, // Debian has rustc's library only for the host's architecture
}

// maySkip reports whether a test may be skipped for this reason.
func (k kernel) maySkip(reason string) bool {
	for _, s := range skips {
		if matches(s.kernel, k.name) && matches(s.reason, reason) {
			return true
		}
	}
	return false
}

// matches reports whether a pattern matches the whole text.
func matches(pattern, text string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(text)
}

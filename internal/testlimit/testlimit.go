// Package testlimit says how much work a test's programs may do: enough to meet rare cases,
// and less on an emulated machine, which is thirty times slower.
package testlimit

import (
	"os"
	"testing"
	"time"
)

// Variable is set in the environment of an emulated machine.
const Variable = "RINGTAP_EMULATED"

// ThoroughVariable is set in the environment to leave nothing out, as make test-all
// does: before a release.
const ThoroughVariable = "RINGTAP_THOROUGH"

// TooSlow is why a test is skipped that steps through whole programs, which
// shows nothing about a kernel.
const TooSlow = "single steps through whole programs take too long on an emulated machine"

// TooUneven is why a test is skipped that counts what share of samples is right
// while programs start and end, which is most of their life there.
const TooUneven = "shares of the samples of short lives say little on an emulated machine"

// OnlyThorough is why a test is skipped that compares speeds or ratios, or that endures:
// what shares the machine can decide it.
const OnlyThorough = "only in make test-all"

// Thorough skips a test unless nothing is to be left out.
func Thorough(t testing.TB) {
	t.Helper()
	if !IsThorough() {
		t.Skip(OnlyThorough)
	}
}

// IsThorough tells whether nothing is to be left out.
func IsThorough() bool { return os.Getenv(ThoroughVariable) != "" }

// Emulated tells whether this machine is emulated.
func Emulated() bool { return os.Getenv(Variable) != "" }

// Calls returns n, or a twentieth of it where the machine is emulated.
func Calls(n int) int {
	if Emulated() {
		return max(1, n/20)
	}
	return n
}

// Case tells whether the i-th of many cases that are alike is to be tested: each, or
// one in n where the machine is emulated and it need not be thorough.
func Case(i, n int) bool {
	return !Emulated() || IsThorough() || i%n == 0
}

// Patience returns how long to wait for what takes at most d: ten times as long
// where the machine is emulated.
func Patience(d time.Duration) time.Duration {
	if Emulated() {
		return 10 * d
	}
	return d
}

// Package testlimit limits the work that programs of tests do. It is enough to meet rare cases,
// but less on an emulated machine, which is thirty times slower.
package testlimit

import (
	"os"
	"testing"
	"time"
)

// Variable is set in the environment of an emulated machine.
const Variable = "RINGTAP_EMULATED"

// ThoroughVariable is set in the environment for a thorough run, which leaves no test out.
// make test-all sets it before a release.
const ThoroughVariable = "RINGTAP_THOROUGH"

// TooSlow is the reason for skipping a test that single-steps whole programs. Such a test
// shows nothing about a kernel.
const TooSlow = "single steps through whole programs take too long on an emulated machine"

// TooUneven is the reason for skipping a test that checks the share of right samples in
// short-lived programs. On an emulated machine these spend most of their life starting and ending.
const TooUneven = "shares of the samples of short lives say little on an emulated machine"

// OnlyThorough is the reason for skipping a test that compares speeds or ratios, or that runs
// long. Other load on the machine can decide its result.
const OnlyThorough = "only in make test-all"

// Thorough skips a test unless this is a thorough run.
func Thorough(t testing.TB) {
	t.Helper()
	if !IsThorough() {
		t.Skip(OnlyThorough)
	}
}

// IsThorough reports whether this is a thorough run: see ThoroughVariable.
func IsThorough() bool { return os.Getenv(ThoroughVariable) != "" }

// Emulated reports whether this machine is emulated.
func Emulated() bool { return os.Getenv(Variable) != "" }

// Calls returns n, or a twentieth of it (at least 1) if the machine is emulated.
func Calls(n int) int {
	if Emulated() {
		return max(1, n/20)
	}
	return n
}

// Case reports whether to test the i-th of many similar cases. It returns true for each, except
// on an emulated machine: there it returns true for one in n, unless the run is thorough.
func Case(i, n int) bool {
	return !Emulated() || IsThorough() || i%n == 0
}

// Patience returns how long to wait for something that takes at most d. On an emulated
// machine it returns 10*d.
func Patience(d time.Duration) time.Duration {
	if Emulated() {
		return 10 * d
	}
	return d
}

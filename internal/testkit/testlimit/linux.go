package testlimit

import (
	"testing"

	"github.com/ringtap/ringtap/internal/host/proc"
)

// Linux reports whether the running kernel has this release or a later one, because tests may expect
// different results from different kernels.
func Linux(t testing.TB, major, minor int) bool {
	t.Helper()
	r, err := proc.Live.Release()
	if err != nil {
		t.Fatal(err)
	}
	return r.Since(major, minor)
}

package testlimit

import (
	"testing"

	"github.com/ringtap/ringtap/internal/proc"
)

// Linux tells whether the running kernel is of that release or a later one: what a test expects may differ
// between them.
func Linux(t testing.TB, major, minor int) bool {
	t.Helper()
	r, err := proc.Live.Release()
	if err != nil {
		t.Fatal(err)
	}
	return r.Since(major, minor)
}

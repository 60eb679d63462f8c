package testlimit

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// Linux tells whether the running kernel is of that release or a later one (uname(2)):
// what a test expects may differ between them.
func Linux(t testing.TB, major, minor int) bool {
	t.Helper()
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	var is [2]int
	release := unix.ByteSliceToString(name.Release[:])
	if _, err := fmt.Sscanf(release, "%d.%d", &is[0], &is[1]); err != nil {
		t.Fatalf("the kernel's release %q: %v", release, err)
	}
	return is[0] > major || is[0] == major && is[1] >= minor
}

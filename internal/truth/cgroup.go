package truth

import (
	"os"
	"strings"
	"testing"
)

// Cgroup2 returns where the unified hierarchy of control groups is mounted, and skips
// the test where it is not.
func Cgroup2(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			return f[1]
		}
	}
	t.Skip("no cgroup2 file system")
	return ""
}

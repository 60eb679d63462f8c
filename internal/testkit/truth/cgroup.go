package truth

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// Cgroup2 returns the mount point of the unified hierarchy of control groups. It skips
// the test if the hierarchy is not mounted.
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

// RemoveCgroup removes a control group whose processes have ended or left, and retries while
// the kernel says that it is busy. Kernels clear away an ended process only some time after
// wait(2) has reported it.
func RemoveCgroup(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(testlimit.Patience(10 * time.Second)); ; time.Sleep(time.Millisecond) {
		err := os.Remove(dir)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// Package loopdevice makes block devices for tests, which nobody else reads or writes.
package loopdevice

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// New makes a block device of a file of 1 MiB. It returns the device's path and its number as
// perf-tools writes it, MAJOR,MINOR. It skips the test if there are no loop devices.
func New(t testing.TB) (path, number string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for try := range 10 {
		out, err := exec.Command("busybox", "losetup", "-f").Output()
		path = strings.TrimSpace(string(out))
		if err != nil || path == "" {
			t.Skipf("no loop device: %v", err)
		}
		if out, err := exec.Command("busybox", "losetup", path, file).CombinedOutput(); err != nil {
			if try == 9 {
				t.Skipf("no loop device: %v %s", err, out)
			}
			continue // another process took this device first
		}
		t.Cleanup(func() { _ = exec.Command("busybox", "losetup", "-d", path).Run() })
		break
	}
	return path, "7," + strings.TrimPrefix(path, "/dev/loop")
}

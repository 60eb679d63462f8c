package profiler_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// newGroup makes a control group of processes. They leave it, and it is removed, when
// the test ends.
func newGroup(t *testing.T, pids ...int) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 3 || f[2] != "cgroup2" {
			continue
		}
		dir := filepath.Join(f[1], "profiler-test-"+strconv.Itoa(os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skipf("no cgroup can be made: %v", err)
		}
		t.Cleanup(func() {
			move(pids, f[1]) // a group that is not empty stays
			truth.RemoveCgroup(t, dir)
		})
		if err := move(pids, dir); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Skip("no cgroup2 file system")
	return ""
}

// move moves processes to a control group.
func move(pids []int, dir string) error {
	for _, pid := range pids {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return err
		}
	}
	return nil
}

package truth

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// KeepBusy keeps every CPU busy until the test ends. Some machines trace nothing on an
// idle CPU (collect.BlindCPUs), and kernels do deferred work there. KeepBusy runs a process
// on each CPU, with the lowest priority (nice 19).
func KeepBusy(t *testing.T) {
	t.Helper()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for cpu, left := 0, all.Count(); left > 0; cpu++ {
		if !all.IsSet(cpu) {
			continue
		}
		left--
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		var one unix.CPUSet
		one.Set(cpu)
		if err := unix.SchedSetaffinity(cmd.Process.Pid, &one); err != nil {
			t.Fatal(err)
		}
		if err := unix.Setpriority(unix.PRIO_PROCESS, cmd.Process.Pid, 19); err != nil {
			t.Fatal(err)
		}
	}
}

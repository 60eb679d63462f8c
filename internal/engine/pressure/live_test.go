package pressure

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// TestMain lets the test binary be the program that uses the CPU.
func TestMain(m *testing.M) {
	if os.Getenv("PRESSURE_BUSY") != "" {
		var one unix.CPUSet
		one.Set(0)
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			os.Exit(1)
		}
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// group makes a control group of its own, which is gone with the test.
func group(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: the test makes a control group")
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 3 || f[2] != "cgroup2" {
			continue
		}
		dir := filepath.Join(f[1], "pressure-test-"+strconv.Itoa(os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { truth.RemoveCgroup(t, dir) })
		return dir
	}
	t.Skip("no cgroup2 file system")
	return ""
}

// squeeze has two programs of a control group want the same CPU.
func squeeze(t *testing.T, group string) {
	t.Helper()
	for range 2 {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "PRESSURE_BUSY=1", "GOMAXPROCS=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may be gone
			_ = cmd.Wait()
		})
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// arm opens a trigger, and skips where there is none to be had.
func arm(t *testing.T, trigger Trigger) *Monitor {
	t.Helper()
	m, err := Open(trigger)
	if errors.Is(err, ErrOff) {
		t.Skip("no pressure stall information")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// someCPU is a trigger that anybody may have.
func someCPU(place string) Trigger {
	return Trigger{Resource: "cpu", Place: place, Threshold: 50 * time.Millisecond, Window: 2 * time.Second}
}

func TestLiveTwoProgramsOnOneCPUAreAnAlarm(t *testing.T) {
	dir := group(t)
	m := arm(t, someCPU(dir))
	if pending, err := m.Pending(); pending || err != nil {
		t.Errorf("an alarm of an empty group: %v, %v", pending, err)
	}
	squeeze(t, dir)
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	if err := m.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	stalled, err := m.Stalled()
	if err != nil || stalled < m.Trigger.Threshold {
		t.Errorf("the kernel says %v were stalled, %v", stalled, err)
	}
	if pending, err := m.Pending(); pending || err != nil {
		t.Errorf("the alarm is told twice: %v, %v", pending, err)
	}
}

// An empty group has no alarm when the one beside it has had two.
func TestLiveNoPressureIsNoAlarm(t *testing.T) {
	dir := group(t)
	var both [2]*Monitor
	for i, name := range []string{"idle", "squeezed"} {
		below := filepath.Join(dir, name)
		if err := os.Mkdir(below, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { truth.RemoveCgroup(t, below) })
		both[i] = arm(t, someCPU(below))
	}
	squeeze(t, filepath.Join(dir, "squeezed"))
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	for range 2 {
		if err := both[1].Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if pending, err := both[0].Pending(); pending || err != nil {
		t.Errorf("an alarm of an empty group: %v, %v", pending, err)
	}
}

func TestLiveWhatTheKernelRefusesIsExplained(t *testing.T) {
	dir := group(t)
	arm(t, someCPU("")) // it must be there for the rest to mean anything
	for _, test := range []struct {
		name    string
		trigger Trigger
		kind    error
		want    string
	}{
		{"no such directory", someCPU("/no/such/group"), ErrNoPlace, "there is no such directory"},
		{"no control group", someCPU(t.TempDir()), ErrNoPlace, "-T 'cpu@/proc/pressure some 50000 2000000' watches the whole system's"},
		{"all of the system", Trigger{Resource: "cpu", Full: true, Threshold: 1e6, Window: 2e9}, nil, "cpu full means nothing for the whole system"},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkError(t, test.trigger, test.kind, test.want)
		})
	}
	t.Run("an account that is turned off", func(t *testing.T) {
		if os.WriteFile(filepath.Join(dir, "cgroup.pressure"), []byte("0"), 0) != nil {
			t.Skip("Linux before 6.1 has no cgroup.pressure")
		}
		checkError(t, someCPU(dir), ErrNoPlace, "write 1 to its cgroup.pressure")
	})
}

func checkError(t *testing.T, trigger Trigger, kind error, want string) {
	t.Helper()
	m, err := Open(trigger)
	if err == nil {
		t.Fatal(errors.Join(errors.New("it is armed"), m.Close()))
	}
	if kind != nil && !errors.Is(err, kind) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// Without CAP_SYS_RESOURCE only some windows can be had.
func TestLiveAWindowIsHadOrExplained(t *testing.T) {
	dir := group(t)
	arm(t, someCPU(dir))
	trigger := someCPU(dir)
	trigger.Window = time.Second
	m, err := Open(trigger)
	if err == nil {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		return
	}
	if !errors.Is(err, ErrWindow) || !strings.Contains(err.Error(), "some 100000 2000000\" is the same proportion") {
		t.Error(err)
	}
}

func TestLiveAGroupThatGoesAwayEndsTheWait(t *testing.T) {
	dir := group(t)
	gone := filepath.Join(dir, "below")
	if err := os.Mkdir(gone, 0o755); err != nil {
		t.Fatal(err)
	}
	m := arm(t, someCPU(gone))
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	go func() { done <- m.Wait(ctx) }()
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrGone) || !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}

package perfevent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/truth"
)

// asNobody runs a test of this binary as an ordinary user, whom no other process has: the
// budget of locked memory is a user's, and the tests of other packages are nobody's. The binary
// lies in a directory that only root may enter, so the child runs it by its descriptor.
func asNobody(t *testing.T, test string) {
	t.Helper()
	needRoot(t)
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	cmd := exec.Command("/proc/self/fd/3", "-test.run", "^"+test+"$", "-test.v")
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env = append(os.Environ(), "PERFEVENT_TEST_NOBODY="+strconv.Itoa(os.Getpid()))
	user := uint32(1<<24 + os.Getpid())
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+test) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// rootsPID returns the pid of the process that ran asNobody, in the child only.
func rootsPID(t *testing.T) (int, bool) {
	t.Helper()
	text := os.Getenv("PERFEVENT_TEST_NOBODY")
	if text == "" {
		return 0, false
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return pid, true
}

func TestLiveUserIsToldWhatIsNotPermitted(t *testing.T) {
	root, isNobody := rootsPID(t)
	if level := readSysctl("perf_event_paranoid"); level != "2" {
		t.Skipf("kernel.perf_event_paranoid is %s, not 2", level)
	}
	if !isNobody {
		asNobody(t, t.Name())
		return
	}
	clock := Sampling{Event: CPUClock(), Frequency: 999}
	user := clock
	user.ExcludeKernel = true
	tests := []struct {
		name     string
		target   Target
		sampling Sampling
		kind     error
		hint     string
	}{
		{"own process with the kernel", Process(os.Getpid()), clock, ErrKernelExcluded, "perf_event_paranoid is 2"},
		{"the system", System(), user, ErrPermission, "perf_event_paranoid is 2"},
		{"root's process", Process(root), user, ErrPermission, "only own processes"},
		{"the root cgroup", InCgroup(truth.Cgroup2(t)), user, ErrPermission, "CAP_PERFMON"},
	}
	for _, tt := range tests {
		s, err := Open(tt.target, []Sampling{tt.sampling}, Options{})
		if err == nil {
			s.Close()
			t.Errorf("%s: permitted", tt.name)
			continue
		}
		if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.hint) {
			t.Errorf("%s: %v, want %v with %q", tt.name, err, tt.kind, tt.hint)
		}
	}
}

func TestLiveUserProfilesOwnProcessesInUserMode(t *testing.T) {
	if _, isNobody := rootsPID(t); !isNobody {
		asNobody(t, t.Name())
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	spun := make(chan struct{})
	go func() {
		defer close(spun)
		spin(ctx)
	}()
	s := open(t, Process(os.Getpid()), []Sampling{{Event: CPUClock(), Frequency: 999, ExcludeKernel: true, Callchain: CallchainMode{User: true}}}, Options{})
	enable(t, s)
	n := 0
	err := s.Read(ctx, func(rec Record) error {
		if sample, ok := rec.(*Sample); ok {
			if n++; n == 50 {
				cancel()
			}
			if sample.Misc&unix.PERF_RECORD_MISC_CPUMODE_MASK != unix.PERF_RECORD_MISC_USER {
				t.Errorf("a sample in mode %d", sample.Misc&unix.PERF_RECORD_MISC_CPUMODE_MASK)
			}
		}
		return nil
	})
	if err != nil || n < 50 {
		t.Errorf("%d samples, %v", n, err)
	}
	stats, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if budget := mlockBudget(); stats.RingBytes < os.Getpagesize() || stats.RingBytes+os.Getpagesize() > budget {
		t.Errorf("a ring of %d bytes; the budget is %d", stats.RingBytes, budget)
	}
	<-spun
}

func TestLiveUserWithoutLockedMemoryIsTold(t *testing.T) {
	if _, isNobody := rootsPID(t); !isNobody {
		asNobody(t, t.Name())
		return
	}
	// All sessions of a user share the budget: use it up, unevenly.
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{}); err != nil {
		t.Fatal(err)
	}
	samplings := []Sampling{{Event: CPUClock(), Frequency: 1, ExcludeKernel: true}}
	sizes := map[int]bool{}
	opts := Options{RingBytes: mlockBudget() / 3}
	for range 1000 {
		s, err := Open(Process(os.Getpid()), samplings, opts)
		opts = Options{}
		if err == nil {
			t.Cleanup(func() { s.Close() })
			sizes[s.ringSize] = true
			continue
		}
		if !errors.Is(err, ErrRingMemory) || !strings.Contains(err.Error(), "kernel.perf_event_mlock_kb is "+readSysctl("perf_event_mlock_kb")) {
			t.Errorf("error %v, want ErrRingMemory that names the sysctl", err)
		}
		if len(sizes) < 2 {
			t.Errorf("rings were not made smaller before giving up: sizes %v", sizes)
		}
		return
	}
	t.Error("1000 sessions fit in the budget")
}

func TestLiveUserWithTooFewFileDescriptorsIsTold(t *testing.T) {
	if _, isNobody := rootsPID(t); !isNobody {
		asNobody(t, t.Name())
		return
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = fileSlack + 10
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Process(os.Getpid()), []Sampling{{Event: CPUClock(), Frequency: 1, ExcludeKernel: true}}, Options{})
	if err == nil {
		s.Close()
		t.Fatal("it fits")
	}
	if !errors.Is(err, ErrTooManyFiles) || !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("error %v, want ErrTooManyFiles with what to do", err)
	}
}

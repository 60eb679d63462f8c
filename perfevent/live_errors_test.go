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
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

func TestLiveOpenTellsTheKindsOfFailureApart(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	pid := ended.Process.Pid
	tooFast := []Sampling{{Event: CPUClock(), Frequency: 1 << 40, ExcludeKernel: true}}
	tooDeep := []Sampling{{Event: CPUClock(), Frequency: 1, MaxStack: 65535, Callchain: CallchainMode{User: true}, ExcludeKernel: true}}
	noTracepoint := []Sampling{{Event: Tracepoint(1<<31, "no:such"), Period: 1, ExcludeKernel: true}}
	tests := []struct {
		name      string
		target    Target
		samplings []Sampling
		kind      error
		errno     error
		text      string
	}{
		{"a process that has ended", Process(pid), pageFaults(), ErrNoTarget, unix.ESRCH, "has ended"},
		{"a thread that has ended", Thread(pid), pageFaults(), ErrNoTarget, unix.ESRCH, "has ended"},
		{"a frequency beyond the limit", Process(unix.Getpid()), tooFast, ErrInvalid, unix.EINVAL,
			"perf_event_max_sample_rate, " + readSysctl("perf_event_max_sample_rate")},
		{"a stack beyond the limit", Process(unix.Getpid()), tooDeep, ErrInvalid, unix.EOVERFLOW,
			"perf_event_max_stack, " + readSysctl("perf_event_max_stack")},
		{"a tracepoint that does not exist", Process(unix.Getpid()), noTracepoint, ErrInvalid, unix.EINVAL, "no tracepoint 2147483648"},
	}
	for _, tt := range tests {
		s, err := Open(tt.target, tt.samplings, Options{})
		if err == nil {
			s.Close()
			t.Errorf("%s: opened", tt.name)
			continue
		}
		if !errors.Is(err, tt.kind) || !errors.Is(err, tt.errno) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %v and %q", tt.name, err, tt.kind, tt.text)
		}
	}
}

func TestLiveCyclesAreSampledOrTheErrorSaysThatThereAreNone(t *testing.T) {
	s, err := Open(Process(unix.Getpid()), []Sampling{{Event: CPUCycles(), Period: 1_000_000, ExcludeKernel: true}}, Options{})
	if err == nil {
		defer s.Close()
		sampleCycles(t, s)
		return
	}
	var open *OpenError
	if !errors.Is(err, ErrNoEvent) || !errors.As(err, &open) || open.Event != "cycles" || !strings.Contains(open.Hint, "cpu-clock") {
		t.Errorf("%v, want ErrNoEvent for cycles, with the way out", err)
	}
}

// sampleCycles keeps a CPU busy: there is a sample for each period that was
// counted, but for the last one of each thread.
func sampleCycles(t *testing.T, s *Session) {
	t.Helper()
	enable(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.Patience(time.Minute))
	defer cancel()
	go spin(ctx)
	samples := uint64(0)
	err := s.Read(ctx, func(rec Record) error {
		if _, ok := rec.(*Sample); ok {
			if samples++; samples >= 1000 {
				cancel()
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := s.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	periods := accounts[0].Counted / 1_000_000
	least := periods * 3 / 4
	if testlimit.Emulated() {
		least = periods / 10 // its interrupts come late, and the next period begins with them
	}
	if a := accounts[0]; samples < 10 || samples+a.Lost > periods || samples+a.Lost < least {
		t.Errorf("%d samples of a period of 1,000,000, %+v", samples, a)
	}
}

func TestLiveCgroupWithoutPerfSaysSo(t *testing.T) {
	needRoot(t)
	dirs := []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/tmp", "/no/such/cgroup"}
	tested := 0
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err != nil && dir != "/no/such/cgroup" {
			continue
		}
		tested++
		s, err := Open(InCgroup(dir), pageFaults(), Options{})
		if err == nil {
			s.Close()
			t.Errorf("%s was opened", dir)
			continue
		}
		var open *OpenError
		if !errors.Is(err, ErrNoTarget) || !errors.As(err, &open) || open.Hint == "" || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want ErrNoTarget with a hint", dir, err)
		}
	}
	if tested < 2 {
		t.Error("only one directory was tested")
	}
}

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

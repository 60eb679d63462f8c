package perfevent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// openCounters opens counters and closes them with the test.
func openCounters(t testing.TB, target Target, events ...Event) *Counters {
	t.Helper()
	c, err := OpenCounters(target, events, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := c.Enable(); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *Counters) mustRead(t testing.TB) []uint64 {
	t.Helper()
	counts, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

func TestLiveCountersCountEveryCall(t *testing.T) {
	needRoot(t)
	dir := filepath.Join(truth.Cgroup2(t), "perfevent-count-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no cgroup can be made: %v", err)
	}
	t.Cleanup(func() { truth.RemoveCgroup(t, dir) })
	pmu, dynamic := hitEvent(t, false), hitTracepoint(t)
	calls := max(600, testlimit.Calls(3000))
	for _, where := range []string{"system", "process", "thread", "cgroup"} {
		children := 2
		if where == "process" {
			children = inheritedChildren(t, children)
		}
		h := startHits(t, "hit", 3, 2, children, calls, 0)
		target, share := Process(h.pid()), uint64(1)
		switch where {
		case "system":
			target = System()
		case "thread":
			target, share = Thread(h.tids[1]), 7
		case "cgroup":
			target = InCgroup(dir)
			if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(h.pid())), 0); err != nil {
				t.Fatal(err)
			}
		}
		events := []Event{dynamic, pmu, hitEvent(t, true)}
		if where == "process" {
			events = []Event{dynamic, dynamic, dynamic}
		}
		c := openCounters(t, target, events...)
		if counts := c.mustRead(t); !slices.Equal(counts, []uint64{0, 0, 0}) {
			t.Errorf("%s: %v before any call", target, counts)
		}
		called, _ := h.call()
		want := called / share
		counts := c.mustRead(t)
		for i, count := range counts {
			if miscounted(count, want, miscounts(events[i], int(want))) {
				t.Errorf("%s: %s counted %d, want %d of %d calls", target, events[i], count, want, called)
			}
		}
		if err := c.Disable(); err != nil {
			t.Fatal(err)
		}
		if after := c.mustRead(t); !slices.Equal(after, counts) {
			t.Errorf("%s: %v, %v after Disable", target, counts, after)
		}
		h.stdin.Close()
		if where == "process" || where == "thread" {
			<-c.Ended()
		}
	}
}

func TestLiveCountersOfAStartedCommandSeeItFromItsFirstInstruction(t *testing.T) {
	needRoot(t)
	path, _ := hitsProgram(t)
	children := inheritedChildren(t, 1)
	cmd := exec.Command(path, "hit", "1", "1", fmt.Sprint(children), "1000", "0")
	cmd.Stdin = strings.NewReader("go\n")
	command, err := StartCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	c := openCounters(t, Started(command), hitTracepoint(t))
	<-c.Ended()
	if _, err := command.Wait(); err != nil {
		t.Error(err)
	}
	if counts, want := c.mustRead(t), uint64(2+children)*1000; counts[0] != want {
		t.Errorf("counted %d, want %d", counts[0], want)
	}
}

func TestLiveCountersThatTakeTooManyFilesSayHowMany(t *testing.T) {
	needRoot(t)
	h := startHits(t, "hit", 3, 0, 0, 0, 0)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > 1<<20 {
		t.Skipf("there may be %d file descriptors (%v)", limit.Cur, err)
	}
	events := slices.Repeat([]Event{hitTracepoint(t)}, int(limit.Cur))
	for _, target := range []Target{Process(h.pid()), System()} {
		_, err := OpenCounters(target, events, Options{})
		var open *OpenError
		if !errors.As(err, &open) || !errors.Is(err, ErrTooManyFiles) || !errors.Is(err, unix.EMFILE) || !strings.Contains(open.Hint, fmt.Sprintf("%d events", limit.Cur)) {
			t.Errorf("%s: %v", target, err)
		}
	}
}

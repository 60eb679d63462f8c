package perfevent

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// touched is what one thread of the fixture program did: it wrote to pages
// fresh pages from addr on, so it had that many page faults there.
type touched struct {
	tid   uint32
	addr  uint64
	pages uint64
}

// faults runs testdata/faults.c.
type faults struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// fixtures is where the fixture program is built, for all tests.
var fixtures string

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(getppidVariable)); err == nil {
		for range n {
			for range getppidBurst {
				unix.Getppid()
			}
			time.Sleep(10 * time.Millisecond)
		}
		os.Exit(0)
	}
	code := 1
	if dir, err := os.MkdirTemp("", "perfevent"); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		fixtures = dir
		code = m.Run()
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

var buildFaults = sync.OnceValues(func() (string, error) {
	path := filepath.Join(fixtures, "faults")
	out, err := exec.Command("gcc", "-O1", "-pthread", "-o", path, "testdata/faults.c").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("gcc: %w: %s", err, out)
	}
	return path, nil
})

// startFaults starts the program and waits until it is ready.
func startFaults(t *testing.T, args ...string) *faults {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc to build the fixture program")
	}
	path, err := buildFaults()
	if err != nil {
		t.Fatal(err)
	}
	f := &faults{t: t, cmd: exec.Command(path, args...)}
	stdout, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if f.stdin, err = f.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, f.cmd)
	t.Cleanup(f.end)
	f.lines = bufio.NewScanner(stdout)
	if !f.lines.Scan() || f.lines.Text() != "ready" {
		t.Fatalf("the fixture program says %q", f.lines.Text())
	}
	return f
}

func (f *faults) pid() int { return f.cmd.Process.Pid }

// work lets the program touch, until it has reported n touchers.
func (f *faults) work(n int) []touched {
	if _, err := io.WriteString(f.stdin, "go\n"); err != nil {
		f.t.Error(err)
	}
	var all []touched
	for len(all) < n && f.lines.Scan() {
		var w touched
		if _, err := fmt.Sscanf(f.lines.Text(), "touched %d %x %d", &w.tid, &w.addr, &w.pages); err != nil {
			f.t.Errorf("the fixture program says %q: %v", f.lines.Text(), err)
		}
		all = append(all, w)
	}
	if len(all) != n {
		f.t.Errorf("the fixture program reported %d touchers, want %d", len(all), n)
	}
	return all
}

func (f *faults) end() {
	f.stdin.Close()
	if err := f.cmd.Wait(); err != nil {
		f.t.Errorf("the fixture program: %v", err)
	}
}

// seen is what a session handed on.
type seen struct {
	samples []fault
	forks   []Fork
	mmaps   []string
	comms   []string
	exits   map[uint32]bool
	exec    bool
	types   map[RecordType]int
	cpus    map[uint32]int // samples by CPU
}

type fault struct {
	pid, tid uint32
	addr     uint64
}

// read reads a session until ctx is done or the target is gone, and checks that
// times never decrease.
func read(t *testing.T, s *Session, ctx context.Context) *seen {
	t.Helper()
	all := &seen{exits: map[uint32]bool{}, types: map[RecordType]int{}, cpus: map[uint32]int{}}
	last := uint64(0)
	err := s.Read(ctx, func(rec Record) error {
		h := rec.Common()
		if h.Time < last {
			t.Errorf("a record of type %d is %d ns earlier than the one before", h.Type, last-h.Time)
		}
		last = h.Time
		all.types[h.Type]++
		switch rec := rec.(type) {
		case *Sample:
			all.samples = append(all.samples, fault{rec.PID, rec.TID, rec.Addr})
			all.cpus[rec.CPU]++
		case *Fork:
			all.forks = append(all.forks, *rec)
		case *Mmap:
			all.mmaps = append(all.mmaps, string(rec.Filename))
		case *Comm:
			all.comms = append(all.comms, string(rec.Name))
			all.exec = all.exec || rec.Exec
		case *Exit:
			all.exits[rec.TID] = true
		}
		return nil
	})
	if err != nil {
		t.Errorf("Read: %v", err)
	}
	return all
}

// checkTouched checks that every toucher's faults were sampled once each.
func (all *seen) checkTouched(t *testing.T, work []touched) {
	t.Helper()
	for _, w := range work {
		n := uint64(0)
		for _, f := range all.samples {
			if f.tid == w.tid && f.addr >= w.addr && f.addr < w.addr+w.pages*4096 {
				n++
			}
		}
		if n != w.pages {
			t.Errorf("thread %d touched %d pages, %d samples say so", w.tid, w.pages, n)
		}
	}
}

// checkBooks checks that the numbers of an exact sampling add up.
func checkBooks(t *testing.T, s *Session) (Account, Stats) {
	t.Helper()
	accounts, err := s.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	stats, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	a := accounts[0]
	if s.format&unix.PERF_FORMAT_LOST != 0 && !a.Exact {
		t.Errorf("the account is not exact: %+v", a)
	}
	// A kernel may keep what some tasks do from being recorded (one was seen
	// to hide process 1) while it counts it; only the whole system has those.
	sum, hidden := a.Received+a.Duplicates+a.Filtered+a.Lost, uint64(0)
	if s.target.kind == systemTarget || s.filter.active() {
		hidden = 10 + a.Counted/100
	}
	if a.Exact && (sum > a.Counted || sum+hidden < a.Counted) {
		t.Errorf("received %d + duplicates %d + filtered %d + lost %d = %d, but the kernel counted %d",
			a.Received, a.Duplicates, a.Filtered, a.Lost, sum, a.Counted)
	}
	if stats.Malformed != 0 || stats.Unknown != 0 {
		t.Errorf("malformed %d, unknown %d", stats.Malformed, stats.Unknown)
	}
	return a, stats
}

// needRoot skips what an ordinary user may not do.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

func pageFaults() []Sampling {
	return []Sampling{{Event: Software(SoftwarePageFaults), Period: 1, Addr: true}}
}

// open opens a session and closes it with the test.
func open(t *testing.T, target Target, samplings []Sampling, opts Options) *Session {
	t.Helper()
	s, err := Open(target, samplings, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func enable(t *testing.T, s *Session) {
	t.Helper()
	if err := s.Enable(); err != nil {
		t.Fatal(err)
	}
}

// during reads a session while work runs, and stops it afterwards.
func during(t *testing.T, s *Session, work func()) *seen {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		work()
	}()
	all := read(t, s, ctx)
	<-done
	return all
}

// spin keeps a CPU busy in user mode.
func spin(ctx context.Context) {
	for x := 0; ctx.Err() == nil; {
		for i := range 1_000_000 {
			x += i
		}
	}
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/loopdevice"
)

// lastCPU is the last CPU that this process may use.
func lastCPU() (cpu int) {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		panic(err)
	}
	for i := range len(may) * strconv.IntSize {
		if may.IsSet(i) {
			cpu = i
		}
	}
	return cpu
}

// stayOnLastCPU has this thread run on the last CPU alone and, if it is first, before all threads
// that share the CPU by time.
func stayOnLastCPU(first bool) {
	runtime.LockOSThread()
	var last unix.CPUSet
	last.Set(lastCPU())
	if err := unix.SchedSetaffinity(0, &last); err != nil {
		panic(err)
	}
	if first {
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
		if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
			panic(err)
		}
	}
}

// busyCPU has the last CPU busy for n milliseconds. Where two looks at the clock lie far apart, it
// did not run between them.
func busyCPU(n int) {
	stayOnLastCPU(true)
	last := time.Now()
	for left := time.Duration(n) * time.Millisecond; left > 0; {
		now := time.Now()
		left -= min(now.Sub(last), 100*time.Microsecond)
		last = now
	}
}

// startProcesses starts n processes, one after the other.
func startProcesses(n int) {
	for range n {
		if err := exec.Command("/bin/true").Run(); err != nil {
			panic(err)
		}
	}
}

// monotonic is the time of CLOCK_MONOTONIC.
func monotonic() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}

func sleepUntil(end time.Duration) {
	at := unix.NsecToTimespec(int64(end))
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil) == unix.EINTR {
	}
}

// runDelay is how long the thread has waited for a CPU since it began, and how often it got one, as the
// kernel counts it (Documentation/scheduler/sched-stats.rst).
func runDelay() (waited time.Duration, times int) {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		panic(err)
	}
	var ran int64
	if _, err := fmt.Sscan(string(text), &ran, &waited, &times); err != nil {
		panic(err)
	}
	return waited, times
}

// waitForCPU has a thread wait for its CPU n times, for more than 32768 and less than 65536 microseconds by
// the kernel's own count. Another thread keeps the CPU busy meanwhile.
func waitForCPU(n int) {
	const busy, wake, round = 50 * time.Millisecond, 8 * time.Millisecond, 70 * time.Millisecond
	begin := monotonic() + round
	go func() {
		stayOnLastCPU(true)
		for at := begin; ; at += round {
			sleepUntil(at)
			for monotonic() < at+busy {
			}
		}
	}()
	stayOnLastCPU(false)
	for at := begin + wake; n > 0; at += round {
		before, runs := runDelay()
		sleepUntil(at)
		after, again := runDelay()
		if took := after - before; again == runs+1 && took > 35*time.Millisecond && took < 62*time.Millisecond {
			n--
		}
	}
}

// flushPages has a file system write n pages back, one after the other. The command line names its folder.
func flushPages(n int) {
	file, err := os.Create(filepath.Join(os.Args[3], "file"))
	if err != nil {
		panic(err)
	}
	defer file.Close()
	for i := range n {
		if _, err := file.WriteAt(make([]byte, os.Getpagesize()), int64(i*os.Getpagesize())); err != nil {
			panic(err)
		}
		if err := unix.Syncfs(int(file.Fd())); err != nil {
			panic(err)
		}
	}
}

// sumOf adds up the numbers that the only group of a pattern matches.
func sumOf(t *testing.T, text, pattern string) (sum int) {
	t.Helper()
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

func TestPeerDebiansCpuwalkSamplesABusyCPUAsOftenAsBpftrace(t *testing.T) {
	needTracefs(t, "uprobe_events")
	const ms, hz = 700, 99
	begin := time.Now()
	ours, theirs := besideBpftrace(t, startKnown(t, "busy-cpu", ms), debiansTool(t, "cpuwalk"))
	took := time.Since(begin)
	row := fmt.Sprintf(`\[%d, %d\) +(\d+) `, lastCPU(), lastCPU()+1)
	least, most := hz*ms/1000-1, int(took.Seconds()*hz)+1
	for name, text := range map[string]string{"bpftrace": theirs, "ringtap": ours} {
		if n := sumOf(t, text, row); n < least || n > most {
			t.Errorf("%s: %d samples of the busy CPU, want %d to %d\n%s", name, n, least, most, text)
		}
	}
}

// startedProcesses is how many processes and threads this host has started.
func startedProcesses(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	return sumOf(t, string(text), `(?m)^processes (\d+)$`)
}

func TestPeerDebiansPidpersecCountsTheProcessesThatBpftraceCounts(t *testing.T) {
	needTracefs(t, "uprobe_events")
	const n = 50
	k := startKnown(t, "start-processes", n)
	count := func(text string) int { return sumOf(t, text, `PIDs/sec: @: (\d+)`) }
	before := startedProcesses(t)
	ours, theirs := sideBySide{program: debiansTool(t, "pidpersec"), begin: k.run, enough: func(b, r string) bool {
		return k.hasEnded() && count(b) >= n-1 && count(r) >= n
	}}.run(t)
	started := startedProcesses(t) - before
	// Version 0.17 forgets those that start between the end of print and clear.
	for name, test := range map[string]struct {
		text  string
		least int
	}{"bpftrace": {theirs, n - 1}, "ringtap": {ours, n}} {
		if got := count(test.text); got < test.least || got > started {
			t.Errorf("%s: %d processes, want %d to %d\n%s", name, got, test.least, started, test.text)
		}
	}
}

// withKernelHeader gives bpftrace a header of the kernel, which most hosts do not have.
func withKernelHeader(t *testing.T, name, text string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{name: text, "linux/kconfig.h": ""} {
		path := filepath.Join(dir, "include", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("BPFTRACE_KERNEL_SOURCE", dir)
}

func TestPeerDebiansRunqlatShowsTheWaitsThatBpftraceShows(t *testing.T) {
	needTracefs(t, "uprobe_events")
	withKernelHeader(t, "linux/sched.h", "#define TASK_RUNNING 0\n")
	const n = 5
	ours, theirs := besideBpftrace(t, startKnown(t, "wait-for-cpu", n), debiansTool(t, "runqlat"))
	const row, rows = `\[32K, 64K\) +(\d+) `, `\[(?:16K, 32K|32K, 64K|64K, 128K)\) +(\d+) `
	// bpftrace begins before ringtap and ends after it. Of a wait that is close to a row's end, its clock may
	// have another row.
	got, least, most := sumOf(t, ours, row), sumOf(t, theirs, row), sumOf(t, theirs, rows)
	if got < n || least < n || got > most {
		t.Errorf("it shows %d waits of 32 to 64 milliseconds, bpftrace %d, %d beside these, the program knows of %d\n%s\nbpftrace:\n%s", got, least, most, n, ours, theirs)
	}
}

func TestPeerDebiansWritebackPrintsTheRoundsThatBpftracePrints(t *testing.T) {
	needTracefs(t, "uprobe_events")
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		t.Skip("mkfs.ext4 is not installed")
	}
	device, number := loopdevice.New(t)
	if out, err := exec.Command("mkfs.ext4", "-q", "-O", "^has_journal", device).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := t.TempDir()
	if err := unix.Mount(device, dir, "ext4", 0, ""); err != nil {
		t.Skipf("ext4: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	const n = 5
	ours, theirs := besideBpftrace(t, startKnown(t, "flush-pages", n, dir), debiansTool(t, "writeback"))
	line := regexp.MustCompile(` ` + strings.ReplaceAll(number, ",", ":") + ` .* sync `)
	const mask = `^\S+ |\S+$` // the time, and how long it took
	want := linesOf(theirs, line, mask)
	if len(want) < n {
		t.Errorf("bpftrace prints %d rounds, want %d or more\n%s", len(want), n, theirs)
	}
	if got := linesOf(ours, line, mask); !slices.Equal(got, want) {
		t.Errorf("it prints\n%s\nbpftrace:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

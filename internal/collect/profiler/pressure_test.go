package profiler_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/collect/calls"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/engine/pressure"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
	"github.com/ringtap/ringtap/perfevent"
)

// A program that calls hit as it is told: e and l say by which function, so many
// times, b has it use the CPU until its end.
const toldProgram = `
#include <stdio.h>
#include <string.h>
#define own __attribute__((noinline, noclone))
own void hit(void) { __asm__ volatile(""); }
own void early(int n) { for (int i = 0; i < n; i++) hit(); __asm__ volatile(""); }
own void late(int n) { for (int i = 0; i < n; i++) hit(); __asm__ volatile(""); }
own void burn(void) { for (;;) __asm__ volatile(""); }
int main(void) {
	char what;
	int n;
	while (scanf(" %c %d", &what, &n) == 2) {
		if (what == 'e') early(n);
		if (what == 'l') late(n);
		if (what == 'b') burn();
		printf("done\n");
		fflush(stdout);
	}
}
`

// told is the program, running.
type told struct {
	t    *testing.T
	path string
	pid  int
	in   io.Writer
	out  *bufio.Reader
}

func startTold(t *testing.T) *told {
	t.Helper()
	needRoot(t)
	dir := t.TempDir()
	source, program := filepath.Join(dir, "told.c"), filepath.Join(dir, "told")
	if err := os.WriteFile(source, []byte(toldProgram), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", program, source).CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, out)
	}
	cmd := exec.Command(program)
	in, out := truth.Start(t, cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone
		_ = cmd.Wait()
	})
	testlimit.Limit(t, cmd)
	return &told{t, program, cmd.Process.Pid, in, bufio.NewReader(out)}
}

// calls has the program call hit.
func (p *told) calls(by string, n int) {
	if _, err := fmt.Fprintf(p.in, "%s %d\n", by, n); err != nil {
		p.t.Error(err)
	}
	if line, err := p.out.ReadString('\n'); line != "done\n" {
		p.t.Errorf("the program says %q, %v", line, err)
	}
}

// options are those of a run that sees its calls.
func (p *told) options(trigger profiler.Trigger) profiler.Options {
	p.t.Helper()
	spec, err := probe.ParseUser("p:" + p.path + ":hit")
	if err != nil {
		p.t.Fatal(err)
	}
	target := perfevent.Process(p.pid)
	set, err := probe.Open(spec, probe.Options{Target: target})
	if err != nil {
		p.t.Skipf("user probes: %v", err)
	}
	p.t.Cleanup(func() { set.Close() })
	opts := options(target, stack.Auto)
	opts.Collectors = []table.Collector{&calls.Hits{Spec: "hit", Sources: set.Sources, Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Entry: true}}}
	opts.Trigger = &trigger
	if b, ok := trigger.Alarm.(*bell); ok {
		opts.Logger = slog.New(listener{slog.DiscardHandler, b.records})
	}
	return opts
}

// callers counts the calls of hit by caller.
func callers(p *profile.Profile) map[string]uint64 {
	counts := make(map[string]uint64)
	for _, row := range p.Rows {
		counts[caller(p, row)] += row.Values[0]
	}
	return counts
}

// recorded is what a window says.
type recorded struct {
	Calls map[string]uint64
	Notes []string
}

// during runs the profiler while test does what it does, and then ends it.
func during(t *testing.T, opts profiler.Options, test func()) ([]recorded, *profiler.Result) {
	t.Helper()
	var windows []recorded
	opts.Report = func(p *profile.Profile) error {
		windows = append(windows, recorded{callers(p), p.Notes})
		return nil
	}
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	go func() {
		defer cancel()
		test()
	}()
	result, err := profiler.Run(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	return windows, result
}

// checkAll checks that a run's numbers add up, and returns its account.
func checkAll(t *testing.T, result *profiler.Result) profile.Account {
	t.Helper()
	a := result.Accounts[0]
	if a.Exact && a.Received+a.Lost+a.Overwritten != a.Counted {
		t.Errorf("received %d, lost %d and overwritten %d are not the %d that the kernel counted", a.Received, a.Lost, a.Overwritten, a.Counted)
	}
	return a
}

// bell is an alarm that the test rings.
type bell struct {
	waits   chan struct{} // is told when somebody waits
	rings   chan struct{}
	records chan struct{} // is told when an alarm's events are on
	again   int           // how often it has rung meanwhile
}

func newBell() *bell {
	return &bell{make(chan struct{}, 100), make(chan struct{}), make(chan struct{}, 100), 0}
}

// listener is a log that tells the bell of what the run says of alarms: each time that
// the events are on.
type listener struct {
	slog.Handler
	records chan<- struct{}
}

func (l listener) Enabled(context.Context, slog.Level) bool { return true }

func (l listener) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "alarm" {
		l.records <- struct{}{}
	}
	return nil
}

func (b *bell) Wait(ctx context.Context) error {
	b.waits <- struct{}{}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-b.rings:
		return nil
	}
}

func (b *bell) Pending() (bool, error) {
	b.again--
	return b.again >= 0, nil
}

// ring rings, and returns when the run records. What comes sooner is in no window, or
// in that of the time before.
func (b *bell) ring() {
	b.rings <- struct{}{}
	<-b.records
}

// recording is how long a window after an alarm is: the program has to be done.
func recording() time.Duration { return testlimit.Patience(1500 * time.Millisecond) }

func TestLiveOnlyWhatFollowsAnAlarmIsRecorded(t *testing.T) {
	p := startTold(t)
	b := newBell()
	windows, result := during(t, p.options(profiler.Trigger{Alarm: b, Name: "the bell", After: recording()}), func() {
		for range 2 {
			<-b.waits
			p.calls("e", 700)
			b.ring()
			p.calls("l", 900)
		}
		<-b.waits
		p.calls("e", 700)
	})
	want := []recorded{
		{map[string]uint64{"late": 900}, []string{"alarm 1 of the bell"}},
		{map[string]uint64{"late": 900}, []string{"alarm 2 of the bell"}},
	}
	if diff := cmp.Diff(want, windows); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	if a := checkAll(t, result); a.Counted != 1800 || result.Alarms != 2 {
		t.Errorf("%d alarms, %+v", result.Alarms, a)
	}
	if diff := cmp.Diff(map[string]uint64{"late": 1800}, callers(result.Whole)); diff != "" {
		t.Errorf("the whole run (-want +got):\n%s", diff)
	}
}

func TestLiveWithoutAnAlarmNothingIsRecorded(t *testing.T) {
	p := startTold(t)
	b := newBell()
	windows, result := during(t, p.options(profiler.Trigger{Alarm: b, Name: "the bell", After: recording()}), func() {
		<-b.waits
		p.calls("e", 700)
	})
	if a := checkAll(t, result); len(windows) != 0 || len(result.Whole.Rows) != 0 || result.Alarms != 0 || a.Counted != 0 {
		t.Errorf("%d windows, %d alarms, %+v", len(windows), result.Alarms, a)
	}
}

func TestLiveAlarmsThatComeAgainAreRecordedWithoutAGap(t *testing.T) {
	p := startTold(t)
	b := newBell()
	b.again = 2
	opts := p.options(profiler.Trigger{Alarm: b, Name: "the bell", After: testlimit.Patience(300 * time.Millisecond)})
	windows, result := during(t, opts, func() {
		<-b.waits
		b.rings <- struct{}{}
		for range 100 {
			p.calls("l", 10)
			time.Sleep(time.Millisecond)
		}
		<-b.waits
	})
	var seen uint64
	for _, w := range windows {
		seen += w.Calls["late"]
	}
	if a := checkAll(t, result); seen+a.LeftOut != a.Received || len(windows) != 3 || result.Alarms != 3 {
		t.Errorf("%d windows with %d calls, %d alarms, %+v", len(windows), seen, result.Alarms, a)
	}
	if note := windows[2].Notes[0]; note != "alarm 3 of the bell, which came while the one before was recorded" {
		t.Error(note)
	}
}

func TestLiveWhatCameBeforeAnAlarmIsShown(t *testing.T) {
	p := startTold(t)
	b := newBell()
	windows, result := during(t, p.options(profiler.Trigger{Alarm: b, Name: "the bell", After: recording(), Before: time.Minute}), func() {
		for range 2 {
			<-b.waits
			p.calls("e", 700)
			b.ring()
			p.calls("l", 900)
		}
		<-b.waits
		p.calls("e", 500) // nobody asks for these
	})
	var calls []map[string]uint64
	for _, w := range windows {
		calls = append(calls, w.Calls)
	}
	want := []map[string]uint64{{"early": 700}, {"late": 900}, {"early": 700}, {"late": 900}}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	if note := windows[0].Notes[0]; !strings.HasPrefix(note, "before alarm 1 of the bell: the last ") || !strings.HasSuffix(note, "nothing was kept before") {
		t.Error(note)
	}
	if a := checkAll(t, result); a.Counted != 3700 || a.Overwritten != 500 {
		t.Errorf("%+v", a)
	}
}

func TestLiveTheLastSecondsBeforeTheEndAreShown(t *testing.T) {
	p := startTold(t)
	opts := p.options(profiler.Trigger{Before: time.Minute, AtEnd: true})
	begins := whenItBegins(&opts)
	windows, result := during(t, opts, func() {
		<-begins
		p.calls("e", 700)
	})
	if len(windows) != 1 || windows[0].Calls["early"] != 700 {
		t.Errorf("windows %v", windows)
	}
	if a := checkAll(t, result); a.Overwritten != 0 {
		t.Errorf("%+v", a)
	}
}

// A shell that has become another program, which has ended: what was before is of
// the shell, and the rest has its names.
func TestLiveWhatIsOverBeforeTheEndIsNamed(t *testing.T) {
	p := startTold(t)
	loops, work := testlimit.Calls(40_000), filepath.Join(t.TempDir(), "work")
	if err := os.WriteFile(work, fmt.Appendf(nil, "e %d\n", testlimit.Calls(100_000_000)), 0o666); err != nil {
		t.Fatal(err)
	}
	command, err := perfevent.StartCommand(exec.Command("sh", "-c", `i=0; while [ $i -lt "$2" ]; do i=$((i+1)); done; exec "$0" < "$1"`, p.path, work, strconv.Itoa(loops)))
	if err != nil {
		t.Fatal(err)
	}
	opts := options(perfevent.Started(command), stack.Auto)
	opts.Trigger = &profiler.Trigger{Before: time.Hour, AtEnd: true}
	opts.Report = func(p *profile.Profile) error {
		lives := make(map[string]bool)
		for _, row := range p.Rows {
			q := p.Processes[row.Process]
			lives[q.Comm] = lives[q.Comm] || q.Comm == "sh" || row.User != profile.None && strings.Contains(joined(p, p.Stacks[row.User].Frames), "early")
			if q.PID != command.PID() {
				t.Errorf("a row of process %d", q.PID)
			}
		}
		if diff := cmp.Diff(map[string]bool{"sh": true, "told": true}, lives); diff != "" {
			t.Errorf("programs (-want +got):\n%s", diff)
		}
		return nil
	}
	result, err := profiler.Run(limited(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := command.Wait(); err != nil {
		t.Error(err)
	}
	if len(result.Whole.Rows) == 0 {
		t.Error("nothing was seen")
	}
}

// The pressure is real: two programs of a control group on one CPU.
func TestLivePressureIsRecorded(t *testing.T) {
	one, two := startTold(t), startTold(t)
	for _, pid := range []int{one.pid, two.pid} {
		shareCPU(t, pid)
	}
	group := newGroup(t, one.pid, two.pid)
	alarm, err := pressure.Open(pressure.Trigger{Resource: "cpu", Place: group, Threshold: 50 * time.Millisecond, Window: 2 * time.Second})
	if errors.Is(err, pressure.ErrOff) {
		t.Skip("no pressure stall information")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer alarm.Close()
	opts := options(perfevent.Process(one.pid, two.pid), stack.Auto)
	opts.Trigger = &profiler.Trigger{Alarm: alarm, Name: "cpu some", After: time.Second}
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	burning := uint64(0)
	opts.Report = func(p *profile.Profile) error {
		for _, row := range p.Rows {
			if row.User != profile.None && strings.Contains(joined(p, p.Stacks[row.User].Frames), "burn") {
				burning += row.Values[0]
			}
		}
		if burning > 0 { // a busy machine may leave them nothing of a second
			cancel()
		}
		return nil
	}
	for _, p := range []*told{one, two} {
		if _, err := fmt.Fprintln(p.in, "b 0"); err != nil {
			t.Fatal(err)
		}
	}
	result, err := profiler.Run(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	if burning == 0 || result.Alarms == 0 {
		t.Errorf("%d samples of what burns, %d alarms", burning, result.Alarms)
	}
}

func joined(p *profile.Profile, frames []int) string {
	var all []string
	for _, f := range frames {
		all = append(all, p.Frames[f].Name)
	}
	return strings.Join(all, ";")
}

// shareCPU has a process use the first CPU only.
func shareCPU(t *testing.T, pid int) {
	t.Helper()
	var first unix.CPUSet
	first.Set(0)
	if err := unix.SchedSetaffinity(pid, &first); err != nil {
		t.Fatal(err)
	}
}

package kprobe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/testkit/hermetic"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// callsVariable has the test binary call instead of test: it says how often each
// thread does.
const callsVariable = "RINGTAP_TEST_FALLOCATES"

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(callsVariable)); err == nil {
		callFromThreadsAndChild(n)
		os.Exit(0)
	}
	hermetic.Set()
	os.Exit(m.Run())
}

// callers is how many threads of the program and its child call.
const callers = 4

// callFromThreadsAndChild has two threads call n times each, and two of a child.
func callFromThreadsAndChild(n int) {
	var all sync.WaitGroup
	for range callers / 2 {
		all.Go(func() {
			runtime.LockOSThread()
			call(n)
		})
	}
	if os.Getenv("RINGTAP_TEST_CHILD") == "" {
		child := exec.Command("/proc/self/exe")
		child.Env = append(os.Environ(), "RINGTAP_TEST_CHILD=1")
		if err := child.Run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	all.Wait()
}

// call calls fallocate(2), which few others do, with a file that cannot do it.
// The i-th call has the offset i and the length 1000+i.
func call(n int) {
	fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer unix.Close(fd)
	for i := range n {
		if err := unix.Fallocate(fd, 0, int64(i), int64(1000+i)); err == nil {
			fmt.Fprintln(os.Stderr, "/dev/null can be allocated")
			os.Exit(1)
		}
	}
}

// program is this one, whose threads call n times each.
func program(n int) *exec.Cmd {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", callsVariable, n))
	c.Stderr = os.Stderr
	return c
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// livePlan resolves a definition on the running kernel.
func livePlan(t testing.TB, definition string) *Plan {
	t.Helper()
	needRoot(t)
	d, err := Parse(definition)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Resolve(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// attach attaches a plan, or skips the test if the kernel does not have the way.
func attach(t testing.TB, p *Plan, o AttachOptions) *Attachment {
	t.Helper()
	a, err := Attach(p, o)
	if way := (*MethodError)(nil); errors.As(err, &way) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// hitsOfRun is what came of a trace.
type hitsOfRun struct {
	texts     []string // what each hit says, sorted
	account   perfevent.Account
	missed    uint64
	strangers uint64 // hits of processes that are neither this one nor come from it
}

// traceHits runs the function while the attachment's events watch a target.
func traceHits(t *testing.T, a *Attachment, target perfevent.Target, run func()) hitsOfRun {
	t.Helper()
	var samplings []perfevent.Sampling
	var printers []*printfmt.Printer
	for i, event := range a.Events {
		samplings = append(samplings, perfevent.Sampling{Event: event, Period: 1, Raw: true, Filter: a.Filter, IntrRegs: a.IntrRegs})
		printer, err := printfmt.New(a.Formats[i], printfmt.Options{KernelSymbol: kernelSymbol(t)})
		if err != nil {
			t.Fatal(err)
		}
		printers = append(printers, printer)
	}
	session, err := perfevent.Open(target, samplings, perfevent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		run()
	}()
	var out hitsOfRun
	var raw []byte
	own := map[uint32]bool{uint32(os.Getpid()): true}
	for _, pid := range session.Processes() {
		own[uint32(pid)] = true
	}
	err = session.Read(ctx, func(record perfevent.Record) error {
		if fork, ok := record.(*perfevent.Fork); ok && own[fork.PPID] {
			own[fork.PID] = true
		}
		sample, ok := record.(*perfevent.Sample)
		if !ok {
			return nil
		}
		if !own[sample.PID] {
			out.strangers++
			return nil
		}
		raw = append(raw[:0], sample.Raw...)
		if a.Raw != nil {
			raw = a.Raw(raw[:0], sample.Sampling, sample)
		}
		text := string(printers[sample.Sampling].Append(nil, raw))
		// Linux 6.12 probes a function behind the landing pad that it begins with (endbr64).
		out.texts = append(out.texts, strings.Replace(text, "(vfs_fallocate+0x4/", "(vfs_fallocate+0x0/", 1))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := session.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	for _, account := range accounts {
		if account.Received+account.Filtered+account.Duplicates+account.Lost != account.Counted {
			t.Errorf("the books don't balance: %+v", account)
		}
		out.account.Received += account.Received
		out.account.Lost += account.Lost
		out.account.Counted += account.Counted
		out.account.Filtered += account.Filtered
	}
	missed, err := a.Missed()
	if err != nil {
		t.Error(err)
	}
	for _, n := range missed {
		out.missed += n
	}
	slices.Sort(out.texts)
	return out
}

// exact reports whether hits by a way are as many as calls: an arm64 kernel counts
// a breakpoint again when it is interrupted before it has stepped over it.
func exact(way Method) bool { return way != MethodBreakpoint || runtime.GOARCH != "arm64" }

// sameHits compares what hits say, as often as they say it where the way is exact.
func sameHits(t *testing.T, what string, way Method, got, want []string) {
	t.Helper()
	if !exact(way) {
		got, want = slices.Compact(slices.Clone(got)), slices.Compact(slices.Clone(want))
	}
	if !slices.Equal(got, want) {
		first := "none"
		if len(got) > 0 {
			first = got[0]
		}
		t.Errorf("%s: %d hits, the first %s; want %d, the first %s", what, len(got), first, len(want), want[0])
	}
}

func TestLiveEachWaySeesEveryCallOfThreadsAndChildren(t *testing.T) {
	p := livePlan(t, "p:vfs_fallocate")
	const n = 500
	symbol, offset, size, _, ok := kernelSymbol(t)(p.Sites[0].Address)
	if !ok || symbol != "vfs_fallocate" || offset != 0 {
		t.Fatalf("%#x is %s+%#x", p.Sites[0].Address, symbol, offset)
	}
	want := slices.Repeat([]string{fmt.Sprintf("(vfs_fallocate+0x0/%#x)", size)}, callers*n)
	for _, way := range []Method{MethodPMU, MethodKprobeEvents, MethodFunction, MethodBreakpoint} {
		t.Run(string(way), func(t *testing.T) {
			if way == MethodFunction { // whose events take very long to open
				testlimit.Thorough(t)
			}
			a := attach(t, p, AttachOptions{Method: way, Target: perfevent.System()})
			if way != MethodFunction {
				system := traceHits(t, a, perfevent.System(), func() {
					if err := program(n).Run(); err != nil {
						t.Error(err)
					}
				})
				sameHits(t, "of the system", way, system.texts, want)
				if system.missed != 0 {
					t.Errorf("%d were missed", system.missed)
				}
			}
			command, err := perfevent.StartCommand(program(n))
			if err != nil {
				t.Fatal(err)
			}
			defer command.Kill()
			started := traceHits(t, a, perfevent.Started(command), func() {
				if _, err := command.Wait(); err != nil {
					t.Error(err)
				}
			})
			sameHits(t, "of a command", way, started.texts, want)
		})
	}
}

func TestLiveArgumentsThatAreRegistersAreTheSameByEveryWay(t *testing.T) {
	p := livePlan(t, "p:vfs_fallocate mode=$arg2:u32 $arg3 length=$arg4:s64 low=$arg4:u8")
	const n = 300
	var want []string
	_, _, size, _, _ := kernelSymbol(t)(p.Sites[0].Address)
	for i := range n {
		for range callers {
			want = append(want, fmt.Sprintf("(vfs_fallocate+0x0/%#x) mode=0 arg2=%#x length=%d low=%d", size, i, 1000+i, (1000+i)%256))
		}
	}
	slices.Sort(want)
	for _, way := range []Method{MethodKprobeEvents, MethodBreakpoint} {
		t.Run(string(way), func(t *testing.T) {
			a := attach(t, p, AttachOptions{Method: way, Target: perfevent.System()})
			got := traceHits(t, a, perfevent.System(), func() {
				if err := program(n).Run(); err != nil {
					t.Error(err)
				}
			})
			sameHits(t, "with arguments", way, got.texts, want)
		})
	}
}

func TestLiveTheKernelFiltersAndTellsWhatIsReturned(t *testing.T) {
	const n = 100
	for _, test := range []struct {
		definition, filter string
		hits               int
		text               string
	}{
		{"p:vfs_fallocate offset=$arg3:s64", "offset == 7", callers, "offset=7"},
		{"p:vfs_fallocate offset=$arg3:s64", "offset >= 90", 10 * callers, "offset=9"},
		{"r:vfs_fallocate $retval:s32", "", callers * n, "<- vfs_fallocate) arg1=-"},
		{"r:vfs_fallocate $retval:s32", "arg1 == 0", 0, ""},
	} {
		t.Run(test.definition+" "+test.filter, func(t *testing.T) {
			p := livePlan(t, test.definition)
			a := attach(t, p, AttachOptions{Target: perfevent.System(), Filter: test.filter})
			if a.Method != MethodKprobeEvents {
				t.Errorf("the way is %s", a.Method)
			}
			got := traceHits(t, a, perfevent.System(), func() {
				if err := program(n).Run(); err != nil {
					t.Error(err)
				}
			})
			if len(got.texts) != test.hits || got.missed != 0 {
				t.Errorf("%d hits, %d missed, want %d", len(got.texts), got.missed, test.hits)
			}
			for _, text := range got.texts {
				if !strings.Contains(text, test.text) {
					t.Fatalf("a hit says %s, want %s", text, test.text)
				}
			}
			// The kernel counts a place's hits whatever the filter says.
			hits, err := a.Hits()
			if err != nil || len(hits) != 1 || hits[0] != callers*n {
				t.Errorf("hits of the places are %d, %v", hits, err)
			}
		})
	}
}

func TestLivePlacesOfOneEventAreToldApart(t *testing.T) {
	p := livePlan(t, "p:vfs_[fc]*l*")
	for _, way := range []Method{MethodKprobeEvents, MethodFunction} {
		t.Run(string(way), func(t *testing.T) {
			if way == MethodFunction { // whose events take very long to open
				testlimit.Thorough(t)
			}
			a := attach(t, p, AttachOptions{Method: way, Target: perfevent.System(), Merge: true})
			if !a.Merged() || len(a.Events) != 1 {
				t.Fatalf("%d events of %d places", len(a.Events), len(p.Sites))
			}
			const n = 50
			got := traceHits(t, a, perfevent.System(), func() {
				if err := program(n).Run(); err != nil {
					t.Error(err)
				}
			})
			count := 0
			for _, text := range got.texts {
				if strings.HasPrefix(text, "(vfs_fallocate+0x0/") {
					count++
				}
			}
			if count != callers*n {
				t.Errorf("%d hits of vfs_fallocate among %d, want %d", count, len(got.texts), callers*n)
			}
			hits, err := a.Hits()
			if way == MethodFunction {
				if !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("hits are %d, %v", hits, err)
				}
				return
			}
			at := slices.IndexFunc(p.Sites, func(s Site) bool { return s.Function.Name == "vfs_fallocate" })
			if err != nil || len(hits) != len(p.Sites) || at < 0 || hits[at] != callers*n {
				t.Errorf("hits are %d, %v, of %d places", hits, err, len(p.Sites))
			}
		})
	}
}

func TestLiveAWrongPlaceHasTheKernelsReason(t *testing.T) {
	attach(t, livePlan(t, "p:vfs_fallocate"), AttachOptions{Method: MethodKprobeEvents, Target: perfevent.System()})
	site := func(symbol string, offset uint64) *Plan {
		return &Plan{Definition: &Definition{Text: symbol, Kind: Entry}, Sites: []Site{{Symbol: symbol, Offset: offset, Event: "wrong"}}}
	}
	for _, p := range []*Plan{site("no_such_function", 0), site("vfs_fallocate", 1)} {
		a, err := Attach(p, AttachOptions{Target: perfevent.System(), PerSampling: 0})
		var refused *ftrace.DefinitionError
		if !errors.As(err, &refused) || refused.Message == "" {
			t.Errorf("%s: the error is %v", p.Sites[0].Place(), err)
		}
		if err == nil {
			a.Close()
		}
		a = attach(t, p, AttachOptions{Method: MethodPMU, Target: perfevent.System()})
		session, err := perfevent.Open(perfevent.Thread(unix.Gettid()), []perfevent.Sampling{{Event: a.Events[0], Period: 1}}, perfevent.Options{})
		var open *perfevent.OpenError
		if !errors.As(err, &open) || !errors.Is(err, perfevent.ErrNotProbeable) || open.Hint == "" {
			t.Errorf("%s: the error is %v", p.Sites[0].Place(), err)
		}
		if err == nil {
			session.Close()
		}
	}
	if left := ownEvents(t, os.Getpid()); strings.Contains(left, "wrong") {
		t.Errorf("left behind: %s", left)
	}
}

// ownEvents are the lines of kprobe_events that are a process's.
func ownEvents(t *testing.T, pid int) string {
	t.Helper()
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Skip(err)
	}
	text, err := os.ReadFile(filepath.Join(tracefs.Dir(), "kprobe_events"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("this kernel has no kprobe_events")
	}
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, fmt.Sprintf("ringtap_%d_", pid)) {
			out.WriteString(line)
		}
	}
	return out.String()
}

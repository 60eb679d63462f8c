package main

import (
	"bufio"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// tracefsFiles are the files of tracefs itself that a tracer may change, by
// pattern. What they hold grows with nothing but what someone asks for.
var tracefsFiles = []string{
	"current_tracer", "set_ftrace_*", "set_graph_*", "set_event*", "options/*", "trace_options", "trace_clock",
	"tracing_on", "tracing_thresh", "tracing_cpumask", "max_graph_depth", "buffer_size_kb", "per_cpu/cpu*/buffer_size_kb",
	"kprobe_events", "uprobe_events", "synthetic_events", "dynamic_events", "enabled_functions", "function_profile_enabled",
}

// tracefsState is what a tracer may change: those files, and the instances.
func tracefsState(t *testing.T, fs *ftrace.FS) map[string]string {
	t.Helper()
	state := map[string]string{}
	for _, pattern := range tracefsFiles {
		readTracefs(t, fs, state, pattern, func(string) bool { return true })
	}
	instances, err := os.ReadDir(filepath.Join(fs.Dir(), "instances"))
	if err != nil {
		t.Fatal(err)
	}
	for _, instance := range instances {
		if !ofAnother(instance.Name()) {
			state["instances/"+instance.Name()] = "is there"
		}
	}
	return state
}

// eventsState is what of an event is not as the kernel made it. To read that of all
// events takes an emulated machine seconds.
func eventsState(t *testing.T, fs *ftrace.FS) map[string]string {
	t.Helper()
	state := map[string]string{}
	events, err := fs.Events()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		dir := "events/" + e.System + "/" + e.Name
		readTracefs(t, fs, state, dir+"/enable", func(text string) bool { return text != "0\n" })
		readTracefs(t, fs, state, dir+"/filter", func(text string) bool { return text != "none\n" })
		readTracefs(t, fs, state, dir+"/trigger", func(text string) bool { return !strings.HasPrefix(text, "#") })
	}
	return state
}

// ringtapName is what ringtap calls events and instances.
var ringtapName = regexp.MustCompile(`\bringtap_(\d+)_`)

// ofAnother reports whether a text names what a ringtap has that runs beside this test.
func ofAnother(text string) bool {
	m := ringtapName.FindStringSubmatch(text)
	if m == nil || m[1] == strconv.Itoa(os.Getpid()) {
		return false
	}
	_, err := os.Stat("/proc/" + m[1])
	return err == nil
}

// readTracefs adds the files that keep wants to a state.
func readTracefs(t *testing.T, fs *ftrace.FS, state map[string]string, pattern string, keep func(text string) bool) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(fs.Dir(), pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		name, _ := filepath.Rel(fs.Dir(), path)
		if text, err := os.ReadFile(path); err == nil && keep(string(text)) && !ofAnother(name) {
			lines := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), ofAnother)
			state[name] = strings.Join(lines, "")
		}
	}
}

// sameState tells what differs.
func sameState(t *testing.T, before, after map[string]string) {
	t.Helper()
	names := maps.Clone(before)
	maps.Copy(names, after)
	// Before its first use a buffer is small: "7 (expanded: 1408)".
	wasUnused := strings.Contains(before["buffer_size_kb"], "expanded")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if wasUnused && strings.HasSuffix(name, "buffer_size_kb") {
			continue
		}
		if before[name] != after[name] {
			t.Errorf("%s was %q and is %q", name, before[name], after[name])
		}
	}
}

// commandsThatLeave are runs that need more of the kernel than their own files. PID
// is a program that preads now and then.
var commandsThatLeave = []struct {
	name string
	need string // in tracefs
	args []string
}{
	{"kprobe with arguments", "kprobe_events", []string{"kprobe", "-p", "PID", "p:KERNEL a=$arg1:x64"}},
	{"kprobe with stacks", "kprobe_events", []string{"kprobe", "-s", "-p", "PID", "r:KERNEL $retval"}},
	{"uprobe with arguments", "uprobe_events", []string{"uprobe", "-p", "PID", `p:/proc/self/exe:"github.com/ringtap/ringtap/cmd/ringtap.knownStep" %sp:x64`}},
	{"functrace", "set_ftrace_filter", []string{"functrace", "-p", "PID", "KERNEL"}},
	{"funcgraph", "set_graph_function", []string{"funcgraph", "-m", "1", "-p", "PID", "KERNEL"}},
	{"funcslower", "tracing_thresh", []string{"funcslower", "-p", "PID", "KERNEL", "1"}},
	{"funccount by the function tracer", "set_ftrace_filter", []string{"funccount", "--way", "function", "-i", "0.2", "KERNEL"}},
	{"funccount by probes", "kprobe_events", []string{"funccount", "--way", "kprobe", "-i", "0.2", "KERNEL"}},
	{"hist by triggers", "synthetic_events", []string{"hist", "--way", "triggers", "-i", "0.2", "vfs_read"}},
	{"hist by pairs", "kprobe_events", []string{"hist", "--way", "pairs", "-i", "0.2", "-p", "PID", "KERNEL"}},
	{"run that counts", "kprobe_events", []string{"run", "-q", "-e", `BEGIN { printf("Tracing\n"); } kprobe:vfs_[lmr]* { @[probe] = count(); } interval:ms:200 { print(@); }`}},
}

// ringtapProcess is a ringtap that runs beside the test.
type ringtapProcess struct {
	*exec.Cmd
	out    io.ReadCloser
	errors strings.Builder
}

// startRingtap starts the command for a program.
func startRingtap(t *testing.T, k *known, args []string) *ringtapProcess {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &ringtapProcess{Cmd: exec.Command(exe)}
	p.Args = []string{"ringtap"}
	for _, arg := range args {
		p.Args = append(p.Args, strings.NewReplacer("PID", k.pid(), "KERNEL", sysCall("pread64"), "/proc/self/exe", exe).Replace(arg))
	}
	p.Stderr = &p.errors
	if p.out, err = p.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	return p
}

// readLines reads until n lines, the first of which says that it traces, and fails
// where they do not come.
func (p *ringtapProcess) readLines(t *testing.T, n int) {
	t.Helper()
	late := time.AfterFunc(testlimit.End, func() { _ = p.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewReader(p.out)
	for i := range n {
		line, err := lines.ReadString('\n')
		if err != nil || i == 0 && !strings.HasPrefix(line, "Tracing") {
			_ = p.Wait()
			t.Fatalf("line %d of %q is %q, %v\n%s", i+1, p.Args, line, err, p.errors.String())
		}
	}
}

// end waits for the end of one that has a reason to end.
func (p *ringtapProcess) end(t *testing.T) {
	t.Helper()
	late := time.AfterFunc(testlimit.End, func() {
		t.Errorf("%q does not end", p.Args)
		_ = p.Process.Kill()
	})
	defer late.Stop()
	_, _ = io.Copy(io.Discard, p.out)
	_ = p.Wait()
}

// However a tracer ends, tracefs is as it was: at once, or after kill -9 as soon as
// another ringtap has run.
func TestLiveNothingIsLeftHoweverATracerEnds(t *testing.T) {
	fs := needTracefs(t, "kprobe_events")
	resetRingtap(t) // what others have left
	k := startKnown(t, "steps", 1<<30)
	k.run()
	events := eventsState(t, fs)
	defer func() { sameState(t, events, eventsState(t, fs)) }()
	for i, command := range commandsThatLeave {
		if !testlimit.Case(i, 5) {
			continue
		}
		t.Run(command.name, func(t *testing.T) {
			needTracefs(t, command.need)
			if strings.HasPrefix(command.need, "set_") || command.need == "tracing_thresh" {
				needFunctionTracer(t)
			}
			before := tracefsState(t, fs)
			signals := []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGKILL}
			if testlimit.Emulated() && !testlimit.IsThorough() { // the first three go the way of a reader that ends
				signals = signals[3:]
			}
			for _, signal := range signals {
				p := startRingtap(t, k, command.args)
				p.readLines(t, 1)
				if err := p.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				p.end(t)
				if signal == unix.SIGKILL {
					resetRingtap(t)
				}
				sameState(t, before, tracefsState(t, fs))
				if t.Failed() {
					t.Fatalf("after %s\n%s", unix.SignalName(signal), p.errors.String())
				}
			}
			p := startRingtap(t, k, command.args)
			p.readLines(t, 3) // as head -3
			_ = p.out.Close()
			p.end(t)
			sameState(t, before, tracefsState(t, fs))
			if text := p.errors.String(); strings.Contains(text, "pipe") {
				t.Errorf("the end of its reader is an error: %s", text)
			}
		})
	}
}

func resetRingtap(t *testing.T) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Args = []string{"ringtap", "reset"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("ringtap reset: %v\n%s", err, out)
	}
}

// What hist has in the kernel depends upon each other: events, variables of
// triggers, a synthetic event, an instance. It is killed as soon as each is there.
func TestLiveAHistThatIsKilledAtAnyMomentIsCleanedUpAfter(t *testing.T) {
	fs := needTracefs(t, "synthetic_events")
	needTracefs(t, "kprobe_events")
	resetRingtap(t) // what others have left
	k := startKnown(t, "steps", 1<<30)
	k.run()
	events := eventsState(t, fs)
	defer func() { sameState(t, events, eventsState(t, fs)) }()
	holds := func(pattern, text string) func(pid string) bool {
		return func(pid string) bool {
			of := strings.NewReplacer("ringtap_", "ringtap_"+pid+"_")
			paths, _ := filepath.Glob(filepath.Join(fs.Dir(), of.Replace(pattern)))
			for _, path := range paths {
				if got, err := os.ReadFile(path); err == nil && strings.Contains(string(got), of.Replace(text)) {
					return true
				}
			}
			return false
		}
	}
	const trigger = "instances/ringtap_*/events/ringtap_*/*/trigger"
	for i, test := range []struct {
		name   string
		until  func(pid string) bool
		signal bool // interrupt it before
	}{
		{name: "an event", until: holds("kprobe_events", "p:ringtap_")},
		{name: "two events", until: holds("kprobe_events", ":ringtap_")},
		{name: "a synthetic event", until: holds("synthetic_events", "ringtap_")},
		{name: "an instance", until: holds("instances/ringtap_*/current_tracer", "nop")},
		{name: "a trigger of the synthetic event", until: holds("instances/ringtap_*/events/synthetic/ringtap_*/trigger", "took.log2")},
		{name: "a variable", until: holds(trigger, "ts0=")},
		{name: "a trigger with an action", until: holds(trigger, "onmatch(")},
		{name: "all triggers", until: holds(trigger, "$took1")},
		{name: "half of it removed", until: func(pid string) bool { return !holds(trigger, "$took1")(pid) }, signal: true},
		{name: "no trigger any more", until: func(pid string) bool { return !holds(trigger, "hist:")(pid) }, signal: true},
		{name: "no instance any more", until: func(pid string) bool { return !holds("instances/ringtap_*/current_tracer", "nop")(pid) }, signal: true},
	} {
		if !testlimit.Case(i, 6) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			before := tracefsState(t, fs)
			p := startRingtap(t, k, []string{"hist", "--way", "triggers", "vfs_read"})
			if test.signal {
				p.readLines(t, 1)
				if err := p.Process.Signal(unix.SIGINT); err != nil {
					t.Fatal(err)
				}
			}
			for end := time.Now().Add(testlimit.End); !test.until(strconv.Itoa(p.Process.Pid)); {
				if time.Now().After(end) {
					t.Fatalf("it never came to that\n%s", p.errors.String())
				}
			}
			_ = p.Process.Kill()
			p.end(t)
			resetRingtap(t)
			sameState(t, before, tracefsState(t, fs))
		})
	}
	t.Run("and any other ringtap does as much as reset", func(t *testing.T) {
		before := tracefsState(t, fs)
		others := [][]string{
			{"kprobe", "-d", "0.01", "p:vfs_read a=$arg1"}, {"hist", "-d", "0.01", "vfs_read"}, {"functrace", "-d", "0.01", "vfs_read"},
		}
		for _, next := range others[:testlimit.Calls(len(others))] {
			p := startRingtap(t, k, []string{"hist", "--way", "triggers", "vfs_read"})
			p.readLines(t, 1)
			_ = p.Process.Kill()
			p.end(t)
			n := startRingtap(t, k, append(next[:1:1], append([]string{"-p", "PID"}, next[1:]...)...))
			n.end(t)
			sameState(t, before, tracefsState(t, fs))
			if t.Failed() {
				t.Fatalf("after %q\n%s", next, n.errors.String())
			}
		}
	})
}

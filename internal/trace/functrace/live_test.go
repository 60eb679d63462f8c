package functrace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/testkit/hermetic"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// callerEnv makes the test binary a program that knows what it calls.
const callerEnv = "RINGTAP_TEST_CALLER"

func TestMain(m *testing.M) {
	switch os.Getenv(callerEnv) {
	case "caller":
		caller()
		os.Exit(0)
	case "tracer":
		tracerToKill()
	}
	hermetic.Set()
	os.Exit(m.Run())
}

// caller does what it is told, line by line: "call N", "thread N" in a new
// thread, "child N" in a new process, "sleep N" times 3 ms. It answers each.
func caller() {
	runtime.LockOSThread()
	fmt.Println(unix.Gettid())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		verb, number, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.Atoi(number)
		switch verb {
		case "call":
			callTimes(n)
		case "thread":
			done := make(chan bool)
			go func() {
				runtime.LockOSThread() // its thread ends with it
				callTimes(n)
				done <- true
			}()
			<-done
		case "child":
			child := exec.Command("/proc/self/exe")
			child.Stdin, child.Stdout = strings.NewReader(fmt.Sprintf("call %d\n", n)), io.Discard
			child.Env = append(os.Environ(), callerEnv+"=caller")
			if err := child.Run(); err != nil {
				panic(err)
			}
		case "sleep":
			for range n {
				unix.Nanosleep(&unix.Timespec{Nsec: 3e6}, nil)
			}
		}
		fmt.Println("done")
	}
}

// callTimes makes system calls that nothing in Go's runtime makes.
func callTimes(n int) {
	var fs unix.Statfs_t
	for range n {
		if err := unix.Statfs("/proc", &fs); err != nil {
			panic(err)
		}
	}
}

// called is the function that each of them ends in; it is called by its address,
// so that no compiler has it inlined.
const called = "simple_statfs"

// entered is the function that each begins in, which calls others.
func entered() string {
	if runtime.GOARCH == "arm64" {
		return "__arm64_sys_statfs"
	}
	return "__x64_sys_statfs"
}

// program is a running caller.
type program struct {
	*exec.Cmd
	t       *testing.T
	pid     int
	in      io.Writer
	answers *bufio.Scanner
}

func startProgram(t *testing.T) *program {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), callerEnv+"=caller")
	cmd.Stderr = os.Stderr
	in, out := truth.Start(t, cmd)
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	p := &program{Cmd: cmd, t: t, in: in, answers: bufio.NewScanner(out)}
	p.answers.Scan()
	var err error
	if p.pid, err = strconv.Atoi(p.answers.Text()); err != nil {
		t.Fatalf("the program says %q", p.answers.Text())
	}
	return p
}

func (p *program) do(what string, n int) {
	p.t.Helper()
	late := time.AfterFunc(testlimit.End, func() { _ = p.Process.Kill() })
	defer late.Stop()
	fmt.Fprintln(p.in, what, n)
	if !p.answers.Scan() {
		p.t.Fatalf("the program ended at %q", what)
	}
}

// withTracer returns the tracefs of a kernel that has the tracer.
func withTracer(t *testing.T, tracer string) *ftrace.FS {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: tracefs is readable by root only")
	}
	top, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	if tracers, _ := readFile(top, "available_tracers"); !slices.Contains(strings.Fields(tracers), tracer) {
		t.Skipf("%s: the kernel has no such tracer", tracer)
	}
	instance, err := top.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	defer instance.Close()
	if err := instance.Write("set_ftrace_filter", called); errors.Is(err, unix.EPERM) {
		t.Skip("function tracer: this kernel refuses it to everyone (EPERM)")
	}
	return top
}

// snapshot is what tracefs must be after a run as it was before.
func snapshot(t *testing.T, top *ftrace.FS) string {
	t.Helper()
	var text strings.Builder
	for _, name := range []string{"current_tracer", "set_ftrace_filter", "set_ftrace_notrace", "set_graph_function", "set_graph_notrace",
		"set_ftrace_pid", "set_ftrace_notrace_pid", "max_graph_depth", "tracing_thresh", "tracing_on", "trace_clock", "trace_options", "set_event", "enabled_functions"} {
		value, err := readFile(top, name)
		fmt.Fprintf(&text, "%s: %s %v\n", name, value, err)
	}
	options, _ := filepath.Glob(filepath.Join(top.Dir(), "options", "*"))
	for _, option := range options {
		value, _ := os.ReadFile(option)
		fmt.Fprintf(&text, "%s: %s", option, value)
	}
	instances, _ := os.ReadDir(filepath.Join(top.Dir(), "instances"))
	for _, instance := range instances {
		if strings.HasPrefix(instance.Name(), fmt.Sprintf("ringtap_%d_", os.Getpid())) {
			fmt.Fprintf(&text, "instance %s\n", instance.Name())
		}
	}
	return text.String()
}

// traced runs a tracer while work works, and checks that all is as before.
func traced(t *testing.T, top *ftrace.FS, o Options, work func()) (lines []string, account Account) {
	t.Helper()
	before := snapshot(t, top)
	var out bytes.Buffer
	if o.Out == nil {
		o.Out = &out
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	armed := make(chan bool, 1)
	o.Armed = func(header string) {
		for line := range strings.Lines(header) {
			if !strings.HasPrefix(line, "#") {
				t.Errorf("a header with the line %q", line)
			}
		}
		armed <- true
	}
	ended := make(chan error, 1)
	go func() {
		var err error
		account, err = Run(ctx, top, o)
		ended <- err
	}()
	select {
	case <-armed:
		work()
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	case err := <-ended:
		t.Fatalf("it did not begin: %v", err)
	}
	if after := snapshot(t, top); after != before {
		t.Errorf("tracefs was\n%s\nand is\n%s", before, after)
	}
	return strings.SplitAfter(strings.TrimSuffix(out.String(), "\n"), "\n"), account
}

func matching(lines []string, pattern string) int {
	n := 0
	for _, line := range lines {
		if regexp.MustCompile(pattern).MatchString(line) {
			n++
		}
	}
	return n
}

func TestLiveEachCallIsALine(t *testing.T) {
	top := withTracer(t, "function")
	p := startProgram(t)
	lines, account := traced(t, top, Options{Functions: []string{called, "vfs_getx*"}, PIDs: []int{p.pid}}, func() { p.do("call", 1000) })
	want := fmt.Sprintf(`^ *[^ ]+-%d +\[\d{3}\] .{4,5} +\d+\.\d{6}: %s <-[a-z_]*statfs[^ ]*\n?$`, p.pid, called)
	if n := matching(lines, want); n != 1000 || account != (Account{Shown: 1000}) {
		t.Errorf("%d lines of %d as they should be, account %+v; the first is %q", n, len(lines), account, lines[0])
	}
}

func TestLiveThreadsAndChildrenThatAreBornLaterAreFollowed(t *testing.T) {
	top := withTracer(t, "function")
	p := startProgram(t)
	stranger := startProgram(t)
	_, account := traced(t, top, Options{Functions: []string{called}, PIDs: []int{p.pid}}, func() {
		stranger.do("call", 100)
		p.do("call", 10)
		p.do("thread", 20)
		p.do("child", 30)
	})
	if account.Shown != 60 {
		t.Errorf("%d calls seen; want 60", account.Shown)
	}
	_, account = traced(t, top, Options{Functions: []string{called}, TID: p.pid}, func() {
		p.do("call", 10)
		p.do("thread", 20)
		p.do("child", 30)
	})
	if account.Shown != 10 {
		t.Errorf("%d calls of the thread seen; want 10", account.Shown)
	}
}

func TestLiveItsOwnCallsAreNotShown(t *testing.T) {
	top := withTracer(t, "function")
	p := startProgram(t)
	lines, _ := traced(t, top, Options{Functions: []string{called}}, func() {
		callTimes(50)
		p.do("thread", 70)
	})
	// Others may call it too.
	if own := matching(lines, fmt.Sprintf(`^ *\S+-%d `, os.Getpid())); own != 0 || len(lines) < 70 {
		t.Errorf("%d lines, %d of them its own", len(lines), own)
	}
}

func TestLiveStacksFollowTheirCalls(t *testing.T) {
	top := withTracer(t, "function")
	p := startProgram(t)
	lines, _ := traced(t, top, Options{Functions: []string{called}, PIDs: []int{p.pid}, Stacks: true}, func() { p.do("call", 7) })
	if n, frames := matching(lines, `<stack trace>`), matching(lines, "^ => "+called+"\n?$"); n != 7 || frames != 7 {
		t.Errorf("%d stacks, %d of them with %s; want 7:\n%s", n, frames, called, strings.Join(lines, ""))
	}
	lines, _ = traced(t, top, Options{Functions: []string{called}, PIDs: []int{p.pid}}, func() { p.do("call", 7) })
	if n := matching(lines, `<stack trace>`); n != 0 {
		t.Errorf("%d stacks that were not asked for", n)
	}
}

// stalled is a reader that takes nothing for a while.
type stalled struct{ until chan bool }

func (s *stalled) Write(b []byte) (int, error) {
	<-s.until
	return len(b), nil
}

func TestLiveWhatIsLostIsCounted(t *testing.T) {
	top := withTracer(t, "function")
	p := startProgram(t)
	n := 65_000 * runtime.NumCPU() // a CPU's buffer holds 50,000
	out := &stalled{make(chan bool)}
	_, account := traced(t, top, Options{Functions: []string{called}, PIDs: []int{p.pid}, Out: out}, func() {
		p.do("call", n)
		close(out.until)
	})
	if account.Shown+account.Lost != uint64(n) {
		t.Errorf("%d shown and %d lost of %d", account.Shown, account.Lost, n)
	}
	t.Logf("%d shown, %d lost", account.Shown, account.Lost)
}

// gate takes what is written to it but for the first, and holds that up until it is
// opened: meanwhile nothing is read from the trace buffer.
type gate struct {
	bytes.Buffer
	reached, open chan struct{}
}

func (g *gate) Write(b []byte) (int, error) {
	select {
	case <-g.reached:
		return g.Buffer.Write(b)
	default:
	}
	close(g.reached)
	<-g.open
	return len(b), nil
}

func TestLiveAGraphHasEachCallAndItsEnd(t *testing.T) {
	top := withTracer(t, "function_graph")
	p := startProgram(t)
	for i, depth := range []int{1, 2} { // deeper, the kernel traces all functions: it takes an emulated machine seconds to start that
		if !testlimit.Case(i, 2) {
			continue
		}
		// A call in which the buffer is read has a line for its begin: none is. The
		// runtime's own thread sleeps as well.
		out := &gate{reached: make(chan struct{}), open: make(chan struct{})}
		o := Options{Kind: Graph, Functions: []string{entered(), "hrtimer_nanosleep"}, TID: p.pid, Out: out}
		o.Graph = GraphOptions{Depth: depth, Tail: true, Switches: true, Columns: Columns{Duration: true, Task: true, Time: true}}
		traced(t, top, o, func() {
			p.do("sleep", 1)
			<-out.reached
			p.do("call", 20)
			close(out.open)
		})
		lines := strings.SplitAfter(strings.TrimSuffix(out.String(), "\n"), "\n")
		leaves, starts, ends := matching(lines, `\|  `+entered()+`\(\);`), matching(lines, `\|  `+entered()+`\(\) \{`), matching(lines, `\|  \} /\* `+entered()+` \*/`)
		if depth == 1 && (leaves != 20 || starts+ends > 0) || depth == 2 && (starts != 20 || ends != 20) {
			t.Errorf("depth %d: %d calls in a line, %d begun, %d ended:\n%s", depth, leaves, starts, ends, strings.Join(lines, ""))
		}
		// Interrupts are shown as deep as they are.
		if deeper := matching(lines, `\|  {`+strconv.Itoa(2+2*depth)+`}`); depth == 1 && deeper > 0 {
			t.Errorf("%d lines are deeper than %d", deeper, depth)
		}
	}
}

// Threads are in the function, and enter it, while the tracer is started.
func TestLiveAGraphBeginsAtTheFunctionsChosen(t *testing.T) {
	testlimit.Thorough(t) // a graph takes an emulated machine half a minute
	top := withTracer(t, "function_graph")
	p := startProgram(t)
	stop, stopped, round := make(chan bool, 1), make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for len(stop) == 0 {
			p.do("sleep", 10)
			select {
			case round <- true:
			default:
			}
		}
	}()
	o := Options{Kind: Graph, Functions: []string{"hrtimer_nanosleep"}, PIDs: []int{p.pid}, Graph: GraphOptions{Depth: 3, Tail: true, Columns: Columns{Task: true}}}
	lines, account := traced(t, top, o, func() {
		for range 5 { // of which all but the first began later than now
			select {
			case <-round:
			case <-stopped:
			}
		}
		stop <- true
		<-stopped
	})
	// An arrow, "==========>", says that an interrupt begins in a call.
	begins := regexp.MustCompile(`^ +\d+\) +\S+-(\d+) +\| ([^\s=<].*)`)
	begun, ended := map[string]int{}, map[string]int{} // by thread
	for _, line := range lines {
		m := begins.FindStringSubmatch(line)
		switch {
		case m == nil:
		case m[2] == "hrtimer_nanosleep() {":
			begun[m[1]]++
		case m[2] == "} /* hrtimer_nanosleep */":
			ended[m[1]]++
		default:
			t.Errorf("a graph begins at %q", line)
		}
	}
	// The recording may end while a thread of the runtime sleeps. The program's own has
	// answered by then.
	own := strconv.Itoa(p.pid)
	for thread, n := range begun {
		if open := n - ended[thread]; open < 0 || open > 1 || thread == own && open != 0 {
			t.Errorf("thread %s: %d calls begin, %d end", thread, n, ended[thread])
		}
	}
	if begun[own] == 0 || len(ended) > len(begun) || account.Lost > 0 {
		t.Errorf("%d calls of the program begin; threads with an end and no beginning: %d of %d; %d records are lost", begun[own], len(ended)-len(begun), len(ended), account.Lost)
	}
}

func TestLiveOnlySlowCallsAreShown(t *testing.T) {
	top := withTracer(t, "function_graph")
	p := startProgram(t)
	o := Options{Kind: Slower, Functions: []string{"hrtimer_nanosleep", called}, TID: p.pid}
	o.Graph = GraphOptions{Threshold: 2 * time.Millisecond, Columns: Columns{Duration: true}}
	lines, _ := traced(t, top, o, func() { p.do("sleep", 25); p.do("call", 100) })
	if n := matching(lines, `^ +\d+\) [+!#*@$] [\d.]+ us +\|  \} /\* hrtimer_nanosleep \*/`); n != 25 {
		t.Errorf("%d calls, %d lines; want 25 calls:\n%s", n, len(lines), strings.Join(lines, ""))
	}
}

func TestLiveWhatSomeoneElseUsesIsRefused(t *testing.T) {
	top := withTracer(t, "function_graph")
	if err := os.WriteFile(filepath.Join(top.Dir(), "tracing_thresh"), []byte("77"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile(filepath.Join(top.Dir(), "tracing_thresh"), []byte("0"), 0)
	before := snapshot(t, top)
	o := Options{Kind: Slower, Functions: []string{called}, Out: io.Discard, Graph: GraphOptions{Threshold: time.Millisecond}}
	_, err := Run(context.Background(), top, o)
	if !isBusy(err) || !strings.Contains(err.Error(), `tracing_thresh is "77"`) {
		t.Errorf("the error is %v", err)
	}
	if after := snapshot(t, top); after != before {
		t.Errorf("tracefs was\n%s\nand is\n%s", before, after)
	}
	// By force it is put back as it was.
	p := startProgram(t)
	o.Force, o.Out, o.PIDs = true, nil, []int{p.pid}
	traced(t, top, o, func() { p.do("call", 3) })
}

// tracerToKill runs a tracer until it is killed.
func tracerToKill() {
	top, err := ftrace.Find()
	if err == nil {
		o := Options{Kind: Slower, Functions: []string{called}, Out: os.Stdout, PIDs: []int{os.Getppid()},
			Graph: GraphOptions{Threshold: time.Millisecond, OnCPU: true, SkipInterrupts: true}}
		o.Armed = func(string) { fmt.Println("armed") }
		_, err = Run(context.Background(), top, o)
	}
	fmt.Println(err)
	os.Exit(1)
}

// differing is how many lines of two texts of as many lines differ.
func differing(a, b string) (n int) {
	other := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if i >= len(other) || line != other[i] {
			n++
		}
	}
	return n
}

func TestLiveAfterAKillAllIsPutBack(t *testing.T) {
	top := withTracer(t, "function_graph")
	before := snapshot(t, top)
	for changes := range 6 { // that it has made when it is killed, or all
		if !testlimit.Case(changes, 3) {
			continue
		}
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), callerEnv+"=tracer")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		says := make(chan string, 1)
		go func() {
			line, _ := bufio.NewReader(out).ReadString('\n')
			says <- line
		}()
		end := time.After(testlimit.End)
		for said := ""; said == "" && differing(before, snapshot(t, top)) < changes; {
			select {
			case said = <-says:
				if said != "armed\n" {
					t.Errorf("the tracer says %q", said)
				}
			case <-end:
				t.Errorf("the tracer neither changes %d settings nor traces", changes)
				changes = 0
			default:
			}
		}
		cmd.Process.Kill()
		cmd.Wait()
		removed, err := top.RemoveStale(0)
		if err != nil {
			t.Error(err)
		}
		if after := snapshot(t, top); after != before {
			t.Errorf("killed after %d changes; removed %q; tracefs was\n%s\nand is\n%s", changes, removed, before, after)
		}
	}
}

func TestLiveAFunctionThatIsNotThereIsNamed(t *testing.T) {
	top := withTracer(t, "function")
	for _, function := range []string{"no_such_function_at_all", "no_such_*", "no_such_module:vfs_read"} {
		_, err := Run(context.Background(), top, Options{Functions: []string{called, function}, Out: io.Discard})
		if err == nil || !strings.Contains(err.Error(), function) {
			t.Errorf("%s: the error is %v", function, err)
		}
	}
}

func TestLiveAKernelWithoutATracerSaysWhatWorks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracefs is readable by root only")
	}
	top, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []Kind{Calls, Graph} {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := Run(ctx, top, Options{Kind: kind, Functions: []string{called}, Out: io.Discard, Armed: func(string) { cancel() },
			Graph: GraphOptions{Depth: 1}})
		cancel()
		var none *NoTracerError
		if err != nil && (!errors.As(err, &none) || !strings.Contains(err.Error(), "ringtap tpoint")) {
			t.Errorf("%s: the error is %v", kind.tracer(), err)
		}
	}
}

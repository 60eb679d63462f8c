package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/loopdevice"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// What a shell does when it is let go, in its own process: 20 opens, half of them
// of a *stat; 30 reads; reads of a block device; a TCP connection.
var (
	opens = "exec busybox cat" + strings.Repeat(" /proc/stat /proc/uptime", 10)
	reads = "exec busybox dd if=/dev/zero of=/dev/null bs=1 count=30"
	disk  = "exec busybox dd if=LOOP of=/dev/null bs=4096 count=64"
	dials = "exec 3<>/dev/tcp/127.0.0.1/PORT"
)

// perfToolsExample is a command line of perf-tools' examples, with the names that
// the kernel has today.
type perfToolsExample struct {
	tool string // ringtap's command; perf-tools' script is of the same name
	args []string
	work string
	want int // lines of the work's own process; someLines, anyLines: as many as perf-tools has
}

const (
	someLines = -1 // one at least
	anyLines  = -2 // compilers have put the function into its callers, or not
)

// perfToolsExamples are those of kprobe, tpoint and functrace (their *_example.txt
// and usage). do_sys_open is do_sys_openat2 today, bio_alloc bio_alloc_bioset.
var perfToolsExamples = []perfToolsExample{
	{"kprobe", []string{"p:do_sys_openat2"}, opens, 20},
	{"kprobe", []string{"r:do_sys_openat2"}, opens, 20},
	{"kprobe", []string{"-H", "p:do_sys_openat2"}, opens, 20},
	{"kprobe", []string{"r:myopen do_sys_openat2 $retval"}, opens, 20},
	{"kprobe", []string{"r:do_sys_openat2 $retval"}, opens, 20},
	{"kprobe", []string{"r:myopen do_sys_openat2 rval=$retval"}, opens, 20},
	{"kprobe", []string{"p:myopen do_sys_openat2 mode=%cx:u16"}, opens, 20},
	{"kprobe", []string{"p:myopen do_sys_openat2 filename=+0(%si):string"}, opens, 20},
	{"kprobe", []string{"-d", "SECONDS", "p:myopen do_sys_openat2 filename=+0(%si):string"}, opens, 20},
	{"kprobe", []string{"-p", "PID", "p:myopen do_sys_openat2 filename=+0(%si):string"}, opens, 20},
	{"kprobe", []string{"-L", "PID", "p:myopen do_sys_openat2 filename=+0(%si):string"}, opens, 20},
	{"kprobe", []string{"p:myopen do_sys_openat2 filename=+0(%si):string", `filename ~ "*stat"`}, opens, 10},
	{"kprobe", []string{"p:do_sys_openat2 file=+0(%si):string", `file ~ "*stat"`}, opens, 10},
	{"kprobe", []string{"p:myprobe bio_alloc_bioset %ax %bx %cx %dx"}, disk, someLines},
	{"kprobe", []string{"p:myprobe bio_alloc_bioset %ax:u32 %bx:u32 %cx:u32 %dx:u32"}, disk, someLines},
	{"kprobe", []string{"p:myprobe bio_alloc_bioset ax=%ax bx=%bx cx=%cx dx=%dx"}, disk, someLines},
	{"kprobe", []string{"r:myprobe bio_alloc_bioset $retval"}, disk, someLines},
	{"kprobe", []string{"-s", "p:mytcp tcp_init_cwnd"}, dials, anyLines},
	{"kprobe", []string{"-s", "p:mytcp tcp_init_transfer"}, dials, someLines},
	{"kprobe", []string{"-s", "p:myprobe tcp_retransmit_skb"}, dials, 0},

	{"tpoint", []string{"block:block_rq_issue"}, disk, someLines},
	{"tpoint", []string{"-H", "block:block_rq_issue"}, disk, someLines},
	{"tpoint", []string{"-s", "block:block_rq_issue"}, disk, someLines},
	{"tpoint", []string{"block:block_rq_issue", `rwbs ~ "*R*"`}, disk, someLines},
	{"tpoint", []string{"-d", "SECONDS", "block:block_rq_issue"}, disk, someLines},
	{"tpoint", []string{"-p", "PID", "syscalls:sys_enter_read"}, reads, 30},

	{"functrace", []string{"ksys_read"}, reads, 30},
	{"functrace", []string{"-p", "PID", "ksys_*"}, reads, someLines},
	{"functrace", []string{"-d", "SECONDS", "-p", "PID", "ksys_read"}, reads, 30},
}

// exampleSeconds is how long the examples with -d trace.
func exampleSeconds() string {
	return strconv.Itoa(int(testlimit.Patience(time.Second).Seconds())/2 + 1)
}

// perf-tools' examples run as they are, at the same time as perf-tools' own scripts:
// both see the same calls and print the same lines. The scripts know registers of
// amd64 alone, ringtap takes those on arm64 too.
func TestLivePerfToolsExamplesShowWhatPerfToolsShows(t *testing.T) {
	fs := needTracefs(t, "kprobe_events")
	for i, e := range perfToolsExamples {
		if !testlimit.Case(i, 9) { // those that trace for a time, which has to be long there, are left out
			continue
		}
		t.Run(e.tool+" "+strings.Join(e.args, " "), func(t *testing.T) {
			if e.tool == "functrace" {
				needFunctionTracer(t)
			}
			script, err := exec.LookPath(e.tool + "-perf")
			if err != nil && runtime.GOARCH == "amd64" {
				t.Skip("perf-tools-unstable is not installed")
			}
			if runtime.GOARCH != "amd64" && e.tool == "kprobe" {
				script = ""
			}
			before := tracefsState(t, fs)
			var got, want []string
			switch {
			case script == "":
				got = e.trace(t, "")[0]
			case strings.HasPrefix(e.definition(), "r:"), slices.Contains(e.args, "-d"):
				// Of two return probes of one function the kernel tells one of them that
				// it returns to the other. And the time of the first must not be over
				// before the second traces.
				got, want = e.trace(t, "")[0], e.trace(t, script)[0]
			default:
				both := e.trace(t, "", script)
				got, want = both[0], both[1]
			}
			if script != "" && !sameLines(got, want) {
				t.Errorf("ringtap:\n%s\nperf-tools:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			n := 0
			for _, line := range got {
				if strings.HasPrefix(line, "TIME: ") {
					n++
				}
			}
			if e.want >= 0 && n != e.want || e.want == someLines && n == 0 {
				t.Errorf("%d lines of the process, want %d:\n%s", n, e.want, strings.Join(got, "\n"))
			}
			sameState(t, before, tracefsState(t, fs))
		})
	}
}

// sameLines reports whether a script's lines are ours. Its stacks may begin with the
// kernel's own tracing.
func sameLines(ours, theirs []string) bool {
	// On arm64 perf has the function that a tracepoint is in twice.
	ours = slices.Clone(ours)
	for i := len(ours) - 1; i >= 2; i-- {
		if ours[i] == ours[i-1] && strings.HasSuffix(ours[i-2], "<stack trace>") {
			ours = slices.Delete(ours, i, i+1)
		}
	}
	i, begins := 0, false
	for _, line := range theirs {
		switch {
		case i < len(ours) && ours[i] == line:
			i++
			begins = strings.HasSuffix(line, "<stack trace>")
		case !begins || !strings.HasPrefix(line, " =>"):
			return false
		}
	}
	return i == len(ours)
}

// definition is what is traced.
func (e *perfToolsExample) definition() string {
	for i := 0; i < len(e.args); i++ {
		switch arg := e.args[i]; {
		case arg == "-d" || arg == "-p" || arg == "-L":
			i++
		case arg[0] != '-':
			return arg
		}
	}
	return ""
}

// trace has tools trace the work at the same time, and returns what each prints of
// it. The tool "" is ringtap, which must come first: a script removes its event by a
// name without a group, which the kernel refuses while ringtap has one of that name.
func (e *perfToolsExample) trace(t *testing.T, scripts ...string) [][]string {
	t.Helper()
	w := holdShell(t, e.work)
	var tools []*tool
	for _, script := range scripts {
		p := startTool(t, script, e.tool, w.expand(e.args))
		p.waitTracing(t)
		tools = append(tools, p)
	}
	w.run(t)
	var out [][]string
	want := e.want
	for i, p := range tools {
		p.end(t, w.isOwn, want)
		if out = append(out, w.named(p.lines(w.isOwn))); i == 0 && !p.script {
			want = p.count(w.isOwn) // the others have as many
		}
	}
	return out
}

// heldShell is a shell that waits until it is let go.
type heldShell struct {
	loop string // the block device of its work, MAJOR,MINOR; "" if it has none
	cmd  *exec.Cmd
	in   interface{ Close() error }
	ends chan error
}

// holdShell starts the shell.
func holdShell(t *testing.T, shell string) *heldShell {
	t.Helper()
	loop := ""
	if strings.Contains(shell, "LOOP") {
		truth.KeepBusy(t) // Linux 6.18 delivers some only of what a CPU hits in an interrupt while it is idle
		var device string
		device, loop = loopdevice.New(t)
		shell = strings.ReplaceAll(shell, "LOOP", device)
	}
	if strings.Contains(shell, "PORT") {
		shell = strings.ReplaceAll(shell, "PORT", listen(t))
	}
	cmd := exec.Command("bash", "-c", "exec 3>&-; read; "+shell)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	started, starts, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer started.Close()
	cmd.ExtraFiles = []*os.File{starts} // closed when the shell has read its own files
	err = cmd.Start()
	_ = starts.Close()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = started.Read(make([]byte, 1))
	w := &heldShell{loop, cmd, in, make(chan error, 1)}
	go func() { w.ends <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return w
}

// isOwn reports whether a line is of the process.
func (w *heldShell) isOwn(line string) bool {
	return strings.Contains(line, fmt.Sprintf("-%d ", w.cmd.Process.Pid))
}

// named gives its process and its block device names in lines, which those of another
// run have too.
func (w *heldShell) named(lines []string) []string {
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], fmt.Sprintf(" PID %d ", w.cmd.Process.Pid), " PID N ")
		if w.loop != "" {
			lines[i] = strings.ReplaceAll(lines[i], " "+w.loop+" ", " LOOP ")
		}
	}
	return lines
}

// expand names the process in arguments.
func (w *heldShell) expand(args []string) []string {
	args = slices.Clone(args)
	for i := range args {
		switch args[i] {
		case "PID":
			args[i] = strconv.Itoa(w.cmd.Process.Pid)
		case "SECONDS":
			args[i] = exampleSeconds()
		}
	}
	return args
}

// run lets it work to its end.
func (w *heldShell) run(t *testing.T) {
	t.Helper()
	_ = w.in.Close()
	select {
	case err := <-w.ends:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(testlimit.End):
		t.Fatal("the command does not end")
	}
}

// tool is ringtap, or a script of perf-tools, that traces.
type tool struct {
	cmd    *exec.Cmd
	script bool
	timed  bool
	ended  chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

func (p *tool) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *tool) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func startTool(t *testing.T, script, command string, args []string) *tool {
	t.Helper()
	p := &tool{script: script != "", timed: slices.Contains(args, "-d"), ended: make(chan struct{})}
	if p.script {
		p.cmd = exec.Command(script, args...)
	} else {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		p.cmd = exec.Command(exe)
		p.cmd.Args = append([]string{"ringtap", command}, args...)
	}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for what the script runs too
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.ended) }()
	t.Cleanup(func() { _ = unix.Kill(-p.cmd.Process.Pid, unix.SIGINT); <-p.ended })
	return p
}

// waitTracing waits until it traces: ringtap says so when it does, a script before;
// it does when it runs the command that waits.
func (p *tool) waitTracing(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(testlimit.End); ; time.Sleep(10 * time.Millisecond) {
		select {
		case <-p.ended:
			t.Fatalf("%q has ended:\n%s", p.cmd.Args, p.text())
		default:
		}
		switch {
		case !strings.Contains(p.text(), "Tracing"):
		case !p.script || p.waits():
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q does not trace:\n%s", p.cmd.Args, p.text())
		}
	}
}

// waits reports whether the script runs what it waits for: cat trace_pipe, or sleep.
func (p *tool) waits() bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, _ := os.ReadFile(stat)
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) < 2 || fields[1] != strconv.Itoa(p.cmd.Process.Pid) {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(stat), "cmdline"))
		if name, _, _ := strings.Cut(string(args), "\x00"); name == "sleep" || strings.Contains(string(args), "\x00trace_pipe\x00") {
			return true
		}
	}
	return false
}

// count is how many of its lines are those of the process.
func (p *tool) count(isOwn func(string) bool) (n int) {
	for line := range strings.Lines(p.text()) {
		if isOwn(line) {
			n++
		}
	}
	return n
}

// end ends it by Ctrl-C, or by its time. A script is given time for the lines that
// are still to come, which it would lose.
func (p *tool) end(t *testing.T, isOwn func(string) bool, want int) {
	t.Helper()
	if !p.timed {
		last, since := 0, time.Now()
		// Linux 6.1 does not always wake the reader of trace_pipe; interrupted it has
		// the lines.
		for ; p.script && time.Since(since) < testlimit.Patience(time.Second); time.Sleep(50 * time.Millisecond) {
			n := p.count(isOwn)
			if n != last {
				last, since = n, time.Now()
			}
			if want >= 0 && n >= want || want < 0 && n > 0 && time.Since(since) > time.Second {
				break
			}
		}
		if err := unix.Kill(-p.cmd.Process.Pid, unix.SIGINT); err != nil {
			t.Error(err)
		}
	}
	select {
	case <-p.ended:
	case <-time.After(testlimit.End):
		_ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL)
		t.Fatalf("%q does not end:\n%s", p.cmd.Args, p.text())
	}
}

// eventHead is what of a line is of one run: the thread, the CPU, flags, the time. The
// thread's name is too: the kernel's trace may have one that it had before an exec.
var eventHead = regexp.MustCompile(`^ *[^ ]+-\d+ +\[\d+\] [^ ]+ +\d+\.\d{6}: `)

// address is where something was in one run.
var address = regexp.MustCompile(`(0x)?[0-9a-f]{9,}`)

// lines are its messages, and the lines of the process with the stacks below.
func (p *tool) lines(isOwn func(string) bool) []string {
	var lines []string
	own := true
	for line := range strings.Lines(p.text()) {
		line = strings.TrimRight(line, "\n")
		switch {
		case eventHead.MatchString(line):
			own = isOwn(line)
		case strings.HasPrefix(line, "#"):
			// How much is in the buffer, and what the kernel's columns mean, which
			// differs between its trace and what perf records.
			continue
		case strings.HasPrefix(line, "ringtap: ending the run"): // an emulated kernel is slow to remove probes
			continue
		case !strings.HasPrefix(line, " =>"):
			own = true
		}
		if own {
			if strings.HasPrefix(line, " =>") { // a script's have neither offset nor module
				line, _, _ = strings.Cut(line, "+0x")
			}
			line = eventHead.ReplaceAllString(line, "TIME: ")
			line = strings.ReplaceAll(line, ": 0x", ": ") // of system calls: newer kernels write it
			lines = append(lines, address.ReplaceAllString(line, "ADDRESS"))
		}
	}
	return lines
}

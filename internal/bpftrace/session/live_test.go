package session

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// calls is how often the caller makes its system call: few enough for the rings to hold them.
const calls = 500

// TestCaller is the program that the live tests trace. It calls getppid(2) when its standard
// input ends.
func TestCaller(t *testing.T) {
	if os.Getenv("SESSION_CALLER") == "" {
		t.Skip("this is a program of the live tests")
	}
	_, _ = io.ReadAll(os.Stdin)
	for range calls {
		syscall.Getppid()
	}
}

// traced runs a program beside a caller, whose process is its $1. The caller begins when the
// program prints "ready", and the program is interrupted when the caller has ended.
func traced(t *testing.T, text string) string {
	t.Helper()
	return tracedBy(t, "TestCaller", text)
}

// tracedBy is traced beside a program of this package's tests.
func tracedBy(t *testing.T, program, text string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	caller := exec.Command("/proc/self/exe", "-test.run=^"+program+"$")
	caller.Env = append(os.Environ(), "SESSION_CALLER=1")
	start, err := caller.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := caller.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	out := &awaited{text: "ready\n", then: func() {
		start.Close()
		go func() {
			_ = caller.Wait()
			cancel()
		}()
	}}
	defer func() { _ = caller.Process.Kill() }()
	var stderr bytes.Buffer
	_, err = Run(ctx, Options{Text: text, Params: []string{fmt.Sprint(caller.Process.Pid)}, Quiet: true, Stdout: out, Stderr: &stderr})
	if err != nil || stderr.Len() > 0 && !strings.HasPrefix(stderr.String(), "note: left out ") {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	return out.String()
}

// awaited is what was written, and does something when a text comes.
type awaited struct {
	bytes.Buffer
	text string
	then func()
	once sync.Once
}

func (a *awaited) Write(p []byte) (int, error) {
	n, err := a.Buffer.Write(p)
	if strings.Contains(a.Buffer.String(), a.text) {
		a.once.Do(a.then)
	}
	return n, err
}

func TestLiveEveryCallIsCounted(t *testing.T) {
	out := traced(t, `BEGIN { printf("ready\n"); }
t:syscalls:sys_enter_getppid / pid == $1 / { @calls = count(); @start[tid] = nsecs; }
t:syscalls:sys_exit_getppid / @start[tid] > 0 / { @took = hist(nsecs - @start[tid]); @ends = count(); delete(@start[tid]); }
t:syscalls:sys_exit_getppid / pid == $1 / { @parents[args.ret] = count(); }
END { clear(@took); }`)
	for _, want := range []string{
		fmt.Sprintf("\n@calls: %d\n", calls),
		fmt.Sprintf("\n@ends: %d\n", calls),
		fmt.Sprintf("\n@parents[%d]: %d\n", os.Getpid(), calls),
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// The caller was there before, and has ended long before its hits are looked at.
func TestLiveParentsOfEndedProcessesAreKnown(t *testing.T) {
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	wants := map[string]string{"ppid": strconv.Itoa(os.Getpid())}
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err == nil { // else its structs are not known
		wants["((struct task_struct *)curtask)->real_parent->comm"] = strings.TrimSpace(string(comm))
	}
	for parent, want := range wants {
		out := traced(t, `BEGIN { printf("ready\n"); }
t:syscalls:sys_enter_getppid / pid == $1 / {
	if (!@delayed) { @delayed = 1; $i = 0; while ($i < 20000000) { $i++; } }
	@parents[`+parent+`] = count();
}
END { clear(@delayed); }`)
		if want := fmt.Sprintf("\n@parents[%s]: %d\n", want, calls); !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestLiveStacksAreThoseOfTheCall(t *testing.T) {
	out := traced(t, `BEGIN { printf("ready\n"); }
t:syscalls:sys_enter_getppid / pid == $1 / { @[ustack, comm, probe] = count(); }`)
	for _, want := range []string{
		"session.TestCaller+", "testing.tRunner+", "\n, ", fmt.Sprintf("tracepoint:syscalls:sys_enter_getppid]: %d\n", calls),
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// Newer kernels give samples of two events of one software counter the number of the first. A CPU
// has a hundred faults from one hundredth to the next, whatever it had between the starts of the two
// events, or between their ends.
func TestLiveTwoPeriodsOfOneCounterAgree(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: the faults of all processes")
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	out := &awaited{text: "ready\n", then: func() {
		go func() {
			for range 20 {
				_ = exec.Command("/bin/true").Run()
			}
			cancel()
		}()
	}}
	var stderr bytes.Buffer
	_, err := Run(ctx, Options{
		Text: `s:faults:100 { if (@begun[cpu]) { @between[@since[cpu]] = count(); } @begun[cpu] = 1; @since[cpu] = 0; }
s:page-faults:1 { @since[cpu]++; } BEGIN { printf("ready\n"); } END { clear(@since); clear(@begun); }`,
		Quiet: true, Bare: true, Stdout: out, Stderr: &stderr,
	})
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if !regexp.MustCompile(`^ready\n\s*@between\[100\]: \d+\s*$`).MatchString(out.String()) {
		t.Errorf("other than 100 faults from one hundredth to the next\n%s", out)
	}
}

func TestLiveNothingIsCountedAfterExit(t *testing.T) {
	const most = 123
	out := traced(t, fmt.Sprintf(`BEGIN { printf("ready\n"); }
t:syscalls:sys_enter_getppid / pid == $1 / { @calls[comm] = count(); @n++; if (@n == %d) { exit(); } @before++; }
t:syscalls:sys_enter_getppid / pid == $1 / { @second = count(); }
t:syscalls:sys_exit_getppid / pid == $1 / { @ends = count(); }
END { printf("at the end %%d\n", @n); }`, most))
	for _, want := range []string{
		fmt.Sprintf("at the end %d\n", most), fmt.Sprintf("]: %d\n", most), fmt.Sprintf("@n: %d\n", most),
		fmt.Sprintf("@before: %d\n", most-1), fmt.Sprintf("@second: %d\n", most-1), fmt.Sprintf("@ends: %d\n", most-1),
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

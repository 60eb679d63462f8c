package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// known is a program that knows what it does: this test binary. It waits until it
// is told to, does something so many times, and ends.
type known struct {
	cmd   *exec.Cmd
	in    interface{ Close() error }
	ended chan struct{} // closed when it has
}

// knownWork is what a known program can do, n times.
var knownWork = map[string]func(n int){
	"pread": func(n int) { // of a file that always has a byte
		fd, err := unix.Open("/dev/zero", unix.O_RDONLY, 0)
		if err != nil {
			panic(err)
		}
		for range n {
			if got, err := unix.Pread(fd, make([]byte, 1), 0); got != 1 || err != nil {
				panic(fmt.Sprint(got, err))
			}
		}
	},
	"sleep": func(n int) { // ten milliseconds each
		for range n {
			until := time.Now().Add(10 * time.Millisecond)
			for left := 10 * time.Millisecond; left > 0; left = time.Until(until) {
				rest := unix.NsecToTimespec(int64(left))
				_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &rest, nil) // a signal may end it
			}
		}
	},
	"spin": func(n int) { // in goroutines whose stacks grow and that change threads
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				for range n / 10 {
					knownDeep(0)
				}
			})
		}
		all.Wait()
	},
	"chdir": func(n int) { // to two places, and the names stay in memory
		names := []*byte{cString("/proc"), cString("/x\ny\x1b[2J")}
		told := toldOf(" sys_chdir(", len(names)*n)
		for range n {
			for _, name := range names {
				_, _, _ = unix.Syscall(unix.SYS_CHDIR, uintptr(unsafe.Pointer(name)), 0, 0) // the second is nowhere
			}
		}
		await(told)
		runtime.KeepAlive(names)
	},
	"open": func(n int) { // a directory and a device, and the names stay in memory
		directory, device := cString("/proc/self"), cString("/dev/null")
		told := toldOf(" sys_openat(", n)
		for range n {
			openFile(directory, unix.O_DIRECTORY)
			openFile(device, 0)
		}
		await(told)
		runtime.KeepAlive(directory)
		runtime.KeepAlive(device)
	},
	"tools":           toolCalls,
	"blocks":          blockWrites,
	"busy-cpu":        busyCPU,
	"start-processes": startProcesses,
	"wait-for-cpu":    waitForCPU,
	"flush-pages":     flushPages,
	"fib":             func(n int) { knownCalls = knownFib(n) },
	"steps": func(n int) { // a pread each five milliseconds
		for i := range n {
			knownStep(i)
			time.Sleep(5 * time.Millisecond)
		}
	},
}

// toldOf reports whether the file that the command line names behind the number, if it does, has n
// lines of a call: memory that is gone can't be read, so that a program stays until then.
func toldOf(call string, n int) func() bool {
	if len(os.Args) <= 3 {
		return func() bool { return true }
	}
	file, err := filepath.Abs(os.Args[3]) // the work may change the directory
	if err != nil {
		panic(err)
	}
	return func() bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Count(string(text), call) == n
	}
}

// openFile opens a file of a name whose memory the caller keeps.
func openFile(name *byte, flags uintptr) {
	here := unix.AT_FDCWD
	fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(here), uintptr(unsafe.Pointer(name)), flags, 0, 0, 0)
	if errno != 0 {
		panic(errno)
	}
	_ = unix.Close(int(fd))
}

// cString is a text for a system call, with room around it.
func cString(text string) *byte {
	b := make([]byte, 256)
	copy(b, text)
	return &b[0]
}

// knownCalls keeps what knownFib returns.
var knownCalls int

//go:noinline
func knownFib(n int) int {
	if n < 2 {
		return n
	}
	return knownFib(n-1) + knownFib(n-2)
}

//go:noinline
func knownStep(i int) {
	_, _ = unix.Pread(0, make([]byte, 1), int64(i)) // of a pipe, which it can't
}

// knownDeep calls itself 20 times, with large frames.
//
//go:noinline
func knownDeep(depth int) byte {
	var frame [512]byte
	frame[depth] = byte(depth)
	if depth < 19 {
		frame[depth] += knownDeep(depth + 1)
	} else {
		runtime.Gosched()
	}
	return frame[depth]
}

// knownProgram is the program: TestMain runs it under its name.
func knownProgram() {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
	knownWork[os.Args[1]](n)
}

// startKnown starts the program, with more arguments where its work takes any, and waits until it waits.
func startKnown(t *testing.T, work string, n int, more ...string) *known {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Args = append([]string{"known-program", work, strconv.Itoa(n)}, more...)
	cmd.Stderr = os.Stderr
	in, out := truth.Start(t, cmd)
	// Its end is waited for at once: for the kernel a zombie is still there.
	ended := make(chan struct{})
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	late := time.AfterFunc(testlimit.End, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { _ = cmd.Wait(); close(ended) }()
	if line != "ready\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	return &known{cmd, in, ended}
}

// hasEnded reports whether the program has done its work.
func (k *known) hasEnded() bool {
	select {
	case <-k.ended:
		return true
	default:
		return false
	}
}

// run lets the program do its work.
func (k *known) run() { _ = k.in.Close() }

func (k *known) pid() string { return strconv.Itoa(k.cmd.Process.Pid) }

// whenTracing calls a function when "Tracing" has been written, or how many probes of a program
// are attached.
type whenTracing struct {
	bytes.Buffer
	call func()
}

func (w *whenTracing) Write(b []byte) (int, error) {
	n, err := w.Buffer.Write(b)
	if w.call != nil && (strings.Contains(w.String(), "Tracing") || strings.Contains(w.String(), "Attaching")) {
		w.call()
		w.call = nil
	}
	return n, err
}

// underRingtap runs a command of ringtap on a known program, from before its work
// until its end, and returns what ringtap prints.
func underRingtap(t *testing.T, work string, n int, args ...string) (stdout, stderr string) {
	t.Helper()
	return runFor(t, startKnown(t, work, n), args...)
}

// runFor is underRingtap for a program that has been started. PID among the
// arguments is its process id.
func runFor(t *testing.T, k *known, args ...string) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	return runUntil(ctx, t, k, k.run, args)
}

// runForAll is runFor of the whole system: it has to be told that the program has ended.
func runForAll(t *testing.T, k *known, args ...string) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	return runUntil(ctx, t, k, func() {
		k.run()
		go func() { <-k.ended; cancel() }()
	}, args)
}

// runUntil runs a command of ringtap until it ends or the context does, and calls tracing
// when it traces.
func runUntil(ctx context.Context, t *testing.T, k *known, tracing func(), args []string) (stdout, stderr string) {
	t.Helper()
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "PID" {
			args[i] = k.pid()
		}
	}
	out := whenTracing{call: tracing}
	var errs bytes.Buffer
	if code := run(ctx, append([]string{"ringtap"}, args...), &console{stdout: &out, stderr: &errs}); code != exitDone {
		t.Fatalf("ringtap %s: exit code %d\n%s%s", strings.Join(args, " "), code, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// needTracefs skips the test where the kernel does not have a file of tracefs.
func needTracefs(t *testing.T, file string) *ftrace.FS {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root")
	}
	fs, _, err := ftrace.Mount()
	if err != nil {
		t.Skip(err)
	}
	if !fs.Has(file) {
		t.Skipf("this kernel has no %s", filepath.Base(file))
	}
	return fs
}

// needFunctionTracer skips the test where functions of the kernel can't be
// traced.
func needFunctionTracer(t *testing.T) {
	t.Helper()
	fs := needTracefs(t, "available_filter_functions")
	text, err := os.ReadFile(filepath.Join(fs.Dir(), "available_filter_functions"))
	if err != nil || len(text) == 0 {
		t.Skipf("this kernel refuses the function tracer: %v", err)
	}
	tracers, err := os.ReadFile(filepath.Join(fs.Dir(), "available_tracers"))
	if err != nil || !strings.Contains(" "+string(tracers), " function ") && !strings.HasPrefix(string(tracers), "function ") {
		t.Skip("this kernel has no function tracer")
	}
}

package jvm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// asMachine makes this test a program that answers as a Java virtual machine does: it says
// how.
const asMachine = "RINGTAP_TEST_JVM"

func TestMain(m *testing.M) {
	if how := os.Getenv(asMachine); how != "" {
		if err := answerAsMachine(how); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const theMap = "1000 10 int Busy.fib(int)\n"

// answerAsMachine maps a libjvm.so, and waits to be woken and asked, until its input ends.
func answerAsMachine(how string) error {
	library := filepath.Join(os.Getenv("TMPDIR"), "libjvm.so")
	if how != "library" {
		file, err := os.Create(library)
		if err != nil {
			return err
		}
		if err := file.Truncate(4096); err != nil {
			return err
		}
		if _, err := unix.Mmap(int(file.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE); err != nil {
			return err
		}
	}
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, unix.SIGQUIT)
	if how == "deaf" {
		signal.Reset(unix.SIGQUIT)
		signal.Ignore(unix.SIGQUIT)
	}
	go func() {
		<-woken
		if _, err := os.Stat(fmt.Sprintf("/tmp/.attach_pid%d", os.Getpid())); err != nil || how == "silent" {
			return
		}
		listener, err := net.Listen("unix", fmt.Sprintf("/tmp/.java_pid%d", os.Getpid()))
		if err != nil {
			return
		}
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			request := make([]byte, len("1\x00jcmd\x00Compiler.perfmap\x00\x00\x00"))
			_, _ = io.ReadFull(conn, request)
			if how == "old" || string(request) != "1\x00jcmd\x00Compiler.perfmap\x00\x00\x00" {
				fmt.Fprint(conn, "1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n")
			} else {
				_ = os.WriteFile(mapOf(os.Getpid()), []byte(theMap), 0o644)
				fmt.Fprint(conn, "0\n")
			}
			conn.Close()
		}
	}()
	// Like HotSpot, remove the socket of a former process with this PID that was killed.
	_ = os.Remove(fmt.Sprintf("/tmp/.java_pid%d", os.Getpid()))
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = os.Remove(mapOf(os.Getpid()))
	_ = os.Remove(fmt.Sprintf("/tmp/.java_pid%d", os.Getpid()))
	return nil
}

func mapOf(pid int) string { return fmt.Sprintf("/tmp/perf-%d.map", pid) }

// start starts a machine that answers in some way, and returns its pid.
func start(t *testing.T, how string) int {
	t.Helper()
	program := exec.Command("/proc/self/exe")
	program.Env = append(os.Environ(), asMachine+"="+how, "TMPDIR="+t.TempDir())
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, program)
	t.Cleanup(func() {
		in.Close()
		if err := program.Wait(); err != nil {
			t.Errorf("the machine: %v", err)
		}
	})
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the machine says %q", line)
	}
	return program.Process.Pid
}

func ask(t *testing.T, pid int) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	file, err := WriteMap(ctx, pid)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	return string(text), err
}

func TestAMachineThatIsAskedWritesItsMap(t *testing.T) {
	pid := start(t, "well")
	for range 2 { // it is woken once
		if text, err := ask(t, pid); text != theMap || err != nil {
			t.Fatalf("%q, %v", text, err)
		}
	}
	if left, _ := filepath.Glob(fmt.Sprintf("/tmp/.attach_pid%d", pid)); len(left) > 0 {
		t.Errorf("%s stays", left)
	}
}

// A ringtap or a jcmd that was killed leaves its file.
func TestAMachineIsAskedAgainAfterAnAttemptThatWasKilled(t *testing.T) {
	pid := start(t, "well")
	if err := os.WriteFile(fmt.Sprintf("/tmp/.attach_pid%d", pid), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := ask(t, pid); text != theMap || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAMachineThatDoesNotKnowTheCommandSaysSo(t *testing.T) {
	_, err := ask(t, start(t, "old"))
	var answer *answerError
	if !errors.As(err, &answer) || !strings.Contains(answer.text, "Unknown diagnostic command") {
		t.Error(err)
	}
}

func TestOnlyAMachineThatCatchesTheSignalIsWoken(t *testing.T) {
	for _, how := range []string{"library", "deaf"} {
		if _, err := ask(t, start(t, how)); !errors.Is(err, ErrNot) {
			t.Errorf("%s: %v", how, err)
		}
	}
	if Is(os.Getpid()) {
		t.Error("this test is a Java virtual machine")
	}
}

func TestAMachineThatDoesNotAnswerIsNotWaitedForLonger(t *testing.T) {
	pid := start(t, "silent")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := WriteMap(ctx, pid); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(fmt.Sprintf("/tmp/.attach_pid%d", pid)); len(left) > 0 {
		t.Errorf("%s stays", left)
	}
}

// HotSpot itself, where there is one of JDK 17 or later.
func TestLiveHotSpotWritesItsMap(t *testing.T) {
	for _, name := range []string{"java", "javac"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	source := filepath.Join(t.TempDir(), "Busy.java")
	err := os.WriteFile(source, []byte(`public class Busy {
	static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	public static void main(String[] args) throws Exception {
		for (int i = 0; i < 200; i++) fib(20);
		System.out.println("ready");
		System.in.read();
	}
}`), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	program := exec.Command("java", source)
	in, _ := program.StdinPipe()
	out, _ := program.StdoutPipe()
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, program)
	defer program.Wait()
	defer in.Close()
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("java says %q", line)
	}
	defer os.Remove(mapOf(program.Process.Pid))
	text, err := ask(t, program.Process.Pid)
	var old *answerError
	if errors.As(err, &old) {
		t.Skipf("a Java virtual machine without Compiler.perfmap: %v", err)
	}
	if err != nil || !strings.Contains(text, "Busy.fib(int)") {
		t.Errorf("%v; %d bytes without fib", err, len(text))
	}
}

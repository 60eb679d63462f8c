package snapshot

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/interptest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// Functions of Python are in the places of the frames of Python's loop, and of all
// frames in the order that Python itself tells.
func TestLiveFunctionsOfPythonAreAmongTheNativeFrames(t *testing.T) {
	pythons := interptest.Installed("python")
	if len(pythons) == 0 {
		t.Skip("python3 is not installed")
	}
	for i, path := range pythons {
		nested := i%2 == 1 // in a pid namespace of its own
		t.Run(fmt.Sprintf("%s nested %t", path, nested), func(t *testing.T) {
			cmd := exec.Command(path, "../runtimes/python/testdata/chains.py", "10", "7")
			cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8") // for the names of files
			if nested {
				cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			testlimit.Limit(t, cmd)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				cmd.Process.Kill()
				cmd.Wait()
			})
			var truth map[string][][]any
			if err := json.NewDecoder(bufio.NewReader(out)).Decode(&truth); err != nil {
				t.Fatal(err)
			}
			taker := New(Options{})
			defer taker.Close()
			s, err := taker.Take(context.Background(), cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			compared := 0
			for _, thread := range s.Threads {
				chain, ok := truth[fmt.Sprint(thread.TID)]
				if !ok {
					continue
				}
				compared++
				var want, got []string
				for _, f := range chain {
					want = append(want, fmt.Sprintf("%v:%v", f[0], f[2]))
				}
				for _, f := range thread.User {
					if f.Runtime != "" {
						got = append(got, fmt.Sprintf("%s:%d", f.Name, f.Line))
					}
					if f.Runtime == "" && strings.HasPrefix(f.Name, "_PyEval_EvalFrameDefault") {
						t.Errorf("thread %d: a loop is left", thread.TID)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("thread %d:\ngot  %q\nwant %q", thread.TID, got, want)
				}
				if last := thread.User[len(thread.User)-1]; !thread.Truncated && last.Runtime != "" {
					t.Errorf("thread %d: %s is outermost, and not native", thread.TID, last.Name)
				}
				if thread.Uninterpreted != "" {
					t.Errorf("thread %d: %s", thread.TID, thread.Uninterpreted)
				}
			}
			if compared != len(truth) {
				t.Errorf("%d of %d threads were seen", compared, len(truth))
			}
		})
	}
}

// Each loop of an interpreter in the native chain has functions in its place.
func TestLiveLoopsOfInterpretersHaveTheirFunctions(t *testing.T) {
	for _, test := range []struct{ language, program, loop string }{
		{"php", "chain.php", "execute_ex"},
		{"perl", "chain.pl", "Perl_runops_standard"},
		{"ruby", "chains.rb", "rb_vm_exec"},
	} {
		t.Run(test.language, func(t *testing.T) {
			interptest.OfEach(t, test.language, func(t *testing.T, path string) {
				loopsHaveFunctions(t, path, test.language, test.program, test.loop)
			})
		})
	}
}

func loopsHaveFunctions(t *testing.T, path, language, program, loop string) {
	t.Helper()
	s := ofReader(t, exec.Command(path, "../runtimes/"+language+"/testdata/"+program, "3"))
	for _, thread := range s.Threads {
		if thread.Uninterpreted != "" {
			t.Errorf("thread %d: %s", thread.TID, thread.Uninterpreted)
		}
		for _, f := range thread.User {
			if f.Runtime == "" && f.Name == loop {
				t.Errorf("thread %d: a loop is left", thread.TID)
			}
		}
	}
	if main := s.Threads[0]; !slices.ContainsFunc(main.User, func(f Frame) bool { return strings.HasPrefix(strings.ToLower(f.Runtime), language) }) {
		t.Errorf("no function of %s among %v", language, main.User)
	}
}

// ofReader starts a program, which prints a line, and returns what it does when its main thread waits for its input.
func ofReader(t *testing.T, cmd *exec.Cmd) *Snapshot {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadBytes('\n'); err != nil {
		t.Fatal(err)
	}
	taker := New(Options{})
	defer taker.Close()
	for {
		s, err := taker.Take(context.Background(), cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if s.Ended() {
			t.Fatal("the program has ended")
		}
		if call, _, _ := strings.Cut(s.Threads[0].Call, "("); slices.Contains([]string{"read", "poll", "ppoll"}, call) {
			return s
		}
	}
}

// Of a thread that runs the functions are only known while it is stopped.
func TestLiveAThreadThatRunsHasItsFunctionsWhileItIsStopped(t *testing.T) {
	path, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	cmd := exec.Command(path, "-c", "def outer():\n  def inner():\n    print(flush=True)\n    while True: pass\n  inner()\nouter()")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadBytes('\n'); err != nil {
		t.Fatal(err)
	}
	for _, stop := range []bool{false, true} {
		taker := New(Options{Stop: stop})
		defer taker.Close()
		s, err := taker.Take(context.Background(), cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		thread := s.Threads[0]
		var names []string
		for _, f := range thread.User {
			if f.Runtime != "" {
				names = append(names, fmt.Sprintf("%s:%d", f.Name, f.Line))
			}
		}
		switch {
		case stop && !slices.Equal(names, []string{"outer.<locals>.inner:4", "outer:5", "<module>:6"}):
			t.Errorf("stopped: %q %s", names, thread.Uninterpreted)
		case !stop && (len(names) > 0 || thread.Sampled && thread.Uninterpreted != unread):
			t.Errorf("running: %q %q", names, thread.Uninterpreted)
		}
	}
}

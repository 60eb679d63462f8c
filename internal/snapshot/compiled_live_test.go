package snapshot

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/interp/interptest"
	"github.com/ringtap/ringtap/internal/testlimit"
)

// Code that Ruby has compiled has no unwind information: what has called it is known all the same.
func TestLiveFunctionsThatRubyCompilesHaveTheirCallers(t *testing.T) {
	found := false
	for _, of := range interptest.Installed("ruby") {
		if out, err := exec.Command(of, "--yjit", "--version").Output(); err == nil && strings.Contains(string(out), "+YJIT") {
			found = true
			functionsHaveCallers(t, of)
		}
	}
	if !found {
		t.Skip("no Ruby with YJIT is installed")
	}
}

func functionsHaveCallers(t *testing.T, path string) {
	t.Helper()
	want := []string{"wait:3", "inner:8", "block in each_of:12", "each_of:12", "outer:16", "<main>:26"}
	for _, flags := range [][]string{nil, {"--yjit"}} {
		thread := waitingRuby(t, path, append(flags, "--disable=gems", "testdata/compiled.rb"))
		var got []string
		for _, f := range thread.User {
			if f.Runtime != "" && !strings.HasPrefix(f.File, "<internal:") {
				name := f.Name[strings.LastIndex(f.Name, "#")+1:]
				if strings.HasPrefix(f.Name, "block in ") {
					name = "block in " + strings.TrimPrefix(name, "block in ")
				}
				got = append(got, fmt.Sprintf("%s:%d", name, f.Line))
			}
			if f.Runtime == "" && f.Object == "[anon]" {
				t.Errorf("%v: %s of the stack is code that nobody knows", flags, f.Name)
			}
		}
		if !slices.Equal(got, want) || thread.Uninterpreted != "" {
			t.Errorf("%v:\ngot  %q\nwant %q\n%s", flags, got, want, thread.Uninterpreted)
		}
		if last := thread.User[len(thread.User)-1]; thread.Truncated || last.Name != "_start" {
			t.Errorf("%v: the outermost frame is %s", flags, last.Name)
		}
	}
}

// waitingRuby is the main thread of a Ruby that waits for its input.
func waitingRuby(t *testing.T, path string, args []string) *Thread {
	t.Helper()
	cmd := exec.Command(path, args...)
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
		in.Close()
		cmd.Wait()
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
			return s.Threads[0]
		}
	}
}

package snapshot

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/compiled"
	"github.com/ringtap/ringtap/internal/testlimit"
)

// The thread tells by Thread.getStackTrace where it waits.
func TestLiveMethodsOfAJavaThreadThatWaitsAreThoseItTells(t *testing.T) {
	for _, tool := range []string{"java", "javac"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	recipe := compiled.Recipe{Sources: compiled.Sources(t, filepath.Join("testdata", "Waits.java")), Commands: [][]string{{"javac", "Waits.java"}}}
	for _, flag := range []string{"-Xint", "-Xcomp"} {
		t.Run(flag, func(t *testing.T) {
			cmd := exec.Command("java", flag, "-cp", recipe.Dir(t), "Waits")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cmd.StdinPipe(); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			testlimit.Limit(t, cmd)
			t.Cleanup(func() {
				cmd.Process.Kill()
				cmd.Wait()
			})
			var want []string
			lines := bufio.NewScanner(out)
			for lines.Scan() && lines.Text() != "" {
				want = append(want, lines.Text())
			}
			taker := New(Options{Lines: true})
			defer taker.Close()
			s, err := taker.Take(context.Background(), cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			method := regexp.MustCompile(`(Waits\.\w+)\(`)
			found := 0
			for _, thread := range s.Threads {
				var got []string
				for _, f := range thread.User {
					if m := method.FindStringSubmatch(f.Name); f.Runtime != "" && m != nil {
						got = append(got, fmt.Sprintf("%s:%d", m[1], f.Line))
					}
				}
				if len(got) == 0 || got[0] == want[len(want)-1] || !slices.Contains(got, want[0]) {
					continue
				}
				found++
				if !slices.Equal(got, want) {
					t.Errorf("thread %d:\ngot  %q\nwant %q", thread.TID, got, want)
				}
				if last := thread.User[len(thread.User)-1]; last.Runtime != "" || thread.Truncated {
					t.Errorf("thread %d: the chain ends at %s", thread.TID, last.Name)
				}
			}
			if found != 1 || len(want) != 9 {
				t.Errorf("%d threads wait in %q", found, want)
			}
		})
	}
}

package snapshot

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testlimit"
)

// Functions of Python are in the places of the frames of Python's loop, and of all
// frames in the order that Python itself tells.
func TestLiveFunctionsOfPythonAreAmongTheNativeFrames(t *testing.T) {
	home, _ := os.UserHomeDir()
	pythons, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
	if path, err := exec.LookPath("/usr/bin/python3"); err == nil {
		pythons = append(pythons, path)
	}
	if len(pythons) == 0 {
		t.Skip("no python3 is installed")
	}
	for _, path := range pythons {
		t.Run(path, func(t *testing.T) {
			cmd := exec.Command(path, "../interp/python/testdata/chains.py", "10", "7")
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

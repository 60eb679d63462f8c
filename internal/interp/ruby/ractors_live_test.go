package ruby

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/interp/interptest"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testlimit"
)

func TestLiveThreadsOfOtherRactorsHaveTheirChains(t *testing.T) {
	interptest.OfEach(t, "ruby", func(t *testing.T, path string) {
		if strings.HasPrefix(interptest.Release(path), "ruby2") {
			return // there are no ractors
		}
		cmd := exec.Command(path, "testdata/ractors.rb")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		testlimit.Limit(t, cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		truth := make(map[int][]string)
		for told := json.NewDecoder(bufio.NewReader(out)); len(truth) < 3; {
			var thread struct {
				TID   int
				Chain [][3]any
			}
			if err := told.Decode(&thread); err != nil {
				t.Fatal(err)
			}
			for _, f := range thread.Chain {
				truth[thread.TID] = append(truth[thread.TID], fmt.Sprintf("%v %v:%v", f[0], f[1], f[2]))
			}
		}
		table := process.NewTable(process.Options{})
		t.Cleanup(table.Close)
		runtimes, err := interp.Attach(interp.NewProcess(cmd.Process.Pid, table.Reread(cmd.Process.Pid)), []interp.Detector{Detect})
		if err != nil || len(runtimes) != 1 {
			t.Fatalf("%d runtimes, %v", len(runtimes), err)
		}
		for tid, want := range truth {
			if got := standing(t, runtimes[0], tid, len(want)); !slices.Equal(got, want) {
				t.Errorf("%s:\ngot  %q\nwant %q", runtimes[0].Name(), got, want)
			}
		}
	})
}

// standing is the chain of a thread once it has so many calls: it may still be telling of them.
func standing(t *testing.T, r interp.Runtime, tid, want int) (got []string) {
	t.Helper()
	w := r.Walker(nil)
	for range 20000 {
		calls, end := w.Walk(make([]interp.Call, 0, 4096), &interp.Thread{TID: tid})
		if end != callchain.Complete || len(calls) != want {
			continue
		}
		for _, c := range calls {
			frames, _ := r.Frames(nil, c)
			for _, f := range frames {
				got = append(got, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
			}
		}
		return got
	}
	t.Errorf("thread %d never had %d calls", tid, want)
	return nil
}

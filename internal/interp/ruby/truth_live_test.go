package ruby

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/interp/interptest"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testlimit"
)

// start starts the program with a seed, waits until it has told its chains, and attaches.
func start(t testing.TB, path string, seed int) (pid int, truth map[int][]string, r interp.Runtime) {
	t.Helper()
	cmd := exec.Command(path, "testdata/chains.rb", strconv.Itoa(seed))
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
	var told map[int][][3]any
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&told); err != nil {
		t.Fatal(err)
	}
	truth = make(map[int][]string)
	for tid, chain := range told {
		for _, f := range chain {
			truth[tid] = append(truth[tid], fmt.Sprintf("%v %v:%v", f[0], f[1], f[2]))
		}
	}
	table := process.NewTable(process.Options{})
	t.Cleanup(table.Close)
	runtimes, err := interp.Attach(interp.NewProcess(cmd.Process.Pid, table.Reread(cmd.Process.Pid)), []interp.Detector{Detect})
	if err != nil || len(runtimes) != 1 {
		t.Fatalf("%d runtimes, %v", len(runtimes), err)
	}
	return cmd.Process.Pid, truth, runtimes[0]
}

func TestLiveThreadsThatStandStillHaveTheChainsThatRubyItselfTells(t *testing.T) {
	interptest.OfEach(t, "ruby", func(t *testing.T, path string) {
		for seed := range 5 {
			compare(t, path, seed)
		}
	})
}

// compare compares all chains of a program with what it has told.
func compare(t *testing.T, path string, seed int) {
	t.Helper()
	_, truth, r := start(t, path, seed)
	w, n := r.Walker(nil), 0
	for tid, want := range truth {
		calls, end := w.Walk(make([]interp.Call, 0, 4096), &interp.Thread{TID: tid})
		if end != callchain.Complete {
			t.Errorf("seed %d: the chain of %d calls is %s", seed, len(calls), end)
		}
		var got []string
		for _, c := range calls {
			frames, ok := r.Frames(nil, c)
			if !ok {
				t.Errorf("seed %d: %#x is no method", seed, c.Code)
			}
			for _, f := range frames {
				if r.(*ruby).qualified && strings.HasPrefix(f.File, "<internal:") {
					continue // which Ruby shows as if they were of C
				}
				got = append(got, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s, seed %d:\ngot  %q\nwant %q", r.Name(), seed, got, want)
		}
		n += len(got)
	}
	t.Logf("%s: %d threads, %d frames", r.Name(), len(truth), n)
}

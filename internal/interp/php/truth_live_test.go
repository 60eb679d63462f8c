package php

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/interp/interptest"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testlimit"
)

// start starts the program with a seed, waits until it has told its chain, and attaches.
func start(t testing.TB, path string, seed int) (pid int, want []string, r interp.Runtime) {
	t.Helper()
	cmd := exec.Command(path, "testdata/chain.php", strconv.Itoa(seed))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
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
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	var told [][3]any
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&told); err != nil {
		t.Fatal(err)
	}
	for _, f := range told {
		want = append(want, fmt.Sprintf("%v %v:%v", f[0], f[1], f[2]))
	}
	pid = cmd.Process.Pid
	waitReading(t, pid)
	table := process.NewTable(process.Options{})
	t.Cleanup(table.Close)
	runtimes, err := interp.Attach(interp.NewProcess(pid, table.Reread(pid)), []interp.Detector{Detect})
	if err != nil || len(runtimes) != 1 {
		t.Fatalf("%d runtimes, %v", len(runtimes), err)
	}
	return pid, want, runtimes[0]
}

// waitReading waits until a process is in read(2) from its standard input.
func waitReading(t testing.TB, pid int) {
	t.Helper()
	const reads = "0 0x0 "
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > len(reads) && string(text[:len(reads)]) == reads {
			return
		}
	}
}

func TestLiveAThreadThatStandsStillHasTheChainThatPHPItselfTells(t *testing.T) {
	interptest.OfEach(t, "php", func(t *testing.T, path string) {
		for seed := range 20 {
			compare(t, path, seed)
		}
	})
}

// compare compares the chain of a program with what it has told.
func compare(t *testing.T, path string, seed int) {
	t.Helper()
	pid, want, r := start(t, path, seed)
	calls, end := r.Walker(nil).Walk(make([]interp.Call, 0, 4096), &interp.Thread{TID: pid})
	if end != callchain.Complete {
		t.Errorf("seed %d: the chain of %d calls is %s", seed, len(calls), end)
	}
	var got []string
	for _, c := range calls {
		frames, ok := r.Frames(nil, c)
		if !ok {
			t.Errorf("seed %d: %#x is no function", seed, c.Code)
		}
		for _, f := range frames {
			got = append(got, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s, seed %d:\ngot  %q\nwant %q", r.Name(), seed, got, want)
	}
	t.Logf("%s: %d frames", r.Name(), len(got))
}

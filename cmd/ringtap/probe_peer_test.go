package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// bpftrace watches the same calls: as many, and as long as they take at least.
func TestPeerProbeTimesWhatBpftraceTimes(t *testing.T) {
	needTracefs(t, "uprobe_events")
	if _, err := exec.LookPath("bpftrace"); err != nil {
		t.Skip("bpftrace is not installed")
	}
	const calls = 3000
	program := compile(t, "gcc", twiceSource, "-static", "-no-pie")
	idle := exec.Command(program, "0") // waits for the end of its input; its probes are looked at
	in, err := idle.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := idle.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = idle.Process.Kill(); _ = idle.Wait() })

	script := ""
	for _, function := range []string{"hit", "rest"} {
		script += fmt.Sprintf("uprobe:%[1]s:%[2]s { @start[tid] = nsecs; } uretprobe:%[1]s:%[2]s /@start[tid]/ { @time_%[2]s = sum(nsecs - @start[tid]); @count_%[2]s = count(); delete(@start[tid]); } ", program, function)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	var theirs bytes.Buffer
	bpftrace := exec.CommandContext(ctx, "bpftrace", "-e", script)
	bpftrace.Stdout = &theirs
	if err := bpftrace.Start(); err != nil {
		t.Fatal(err)
	}
	for _, function := range []string{"hit", "rest"} {
		awaitProbe(ctx, t, idle.Process.Pid, program, function)
	}
	awaitPoll(ctx, t, bpftrace.Process.Pid) // the return probes can't be seen
	begin := time.Now()
	p, _, stderr := probeRun(t, program+":hit", "probe", program+":rest", "--", program, strconv.Itoa(calls))
	endBpftrace(t, bpftrace)

	for function, want := range map[string]uint64{"hit": 2 * calls, "rest": 5} {
		count := p.column(program+":"+function+"Count", "")
		if peers := bpftraceNumber(t, theirs.String(), "count_"+function); count != want || peers != want {
			t.Errorf("%s: %d calls, and %d by bpftrace, want %d\n%s%s", function, count, peers, want, theirs.String(), stderr)
		}
		took, peers := p.column(program+":"+function+"Time", ""), bpftraceNumber(t, theirs.String(), "time_"+function)
		t.Logf("%s: %d ns here, %d by bpftrace", function, took, peers)
		if most := uint64(time.Since(begin)); function == "rest" && (min(took, peers) < 50e6 || max(took, peers) > most) {
			t.Errorf("%s: %d ns, and %d by bpftrace; want five times 10 ms or more, and less than all took, %d", function, took, peers, most)
		}
	}
}

// bpftraceNumber is the value of a map that bpftrace prints at its end.
func bpftraceNumber(t *testing.T, text, name string) uint64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^@` + name + `: (\d+)$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("bpftrace has no %s:\n%s", name, text)
	}
	n, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

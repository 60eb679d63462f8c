package main

import (
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// churn starts short-lived programs, some of them interpreters, until its input ends.
const churn = `
while :; do
	for i in 1 2 3 4 5 6 7 8; do python3 -S -c 'for i in range(20000): pass' & /bin/true; ls /etc >/dev/null; done
	wait
done & read line; kill $!`

// Records about the ends of processes are lost in such a run, and all that counts on them has
// bounds of its own.
func TestLiveARunOfTenMinutesStaysWithinItsMemory(t *testing.T) {
	testlimit.Thorough(t)
	needTracefs(t, "uprobe_events")
	const length, limit = 10 * time.Minute, (256 + 256) << 20 // --max-memory, and what the help adds to it
	load := exec.Command("bash", "-c", churn)
	in, err := load.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); _ = load.Wait() }()
	var said bytes.Buffer
	ringtap := exec.Command("ringtap", "on-cpu", "off-cpu", "memleak", "io", "-i", "1", "-d", strconv.Itoa(int(length.Seconds())), "--tables")
	ringtap.Stderr = &said
	if err := ringtap.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- ringtap.Wait() }()
	var peak uint64
	for {
		select {
		case err := <-ended:
			if err != nil || peak > limit || peak == 0 {
				t.Errorf("%v, and at most %d MiB; want %d\n%s", err, peak>>20, limit>>20, said.String())
			}
			return
		case <-time.After(time.Second):
			peak = max(peak, residentOf(t, ringtap.Process.Pid))
		}
	}
}

// residentOf returns the resident memory of a process and its descendants in bytes (statm in
// proc_pid_statm(5)).
func residentOf(t *testing.T, pid int) (bytes uint64) {
	t.Helper()
	host := process.Host{}
	all, err := host.Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range host.WithChildren(all, []int{pid}) {
		text, err := host.Read(p, "statm")
		fields := strings.Fields(string(text))
		if err != nil || len(fields) < 2 {
			continue // it has ended
		}
		pages, err := strconv.ParseUint(fields[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		bytes += pages * uint64(unix.Getpagesize())
	}
	return bytes
}

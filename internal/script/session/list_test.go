package session

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestLiveListsHaveWhatBpftraceLists(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracefs")
	}
	for pattern, want := range map[string]string{
		"tracepoint:syscalls:sys_enter_getppid": "tracepoint:syscalls:sys_enter_getppid\n    int __syscall_nr\n",
		"t:syscalls:sys_e*_getppid":             "tracepoint:syscalls:sys_enter_getppid\n    int __syscall_nr\ntracepoint:syscalls:sys_exit_getppid\n    int __syscall_nr\n    long ret\n",
		"s:page*":                               "software:page-faults:\n",
		"nosuch:*":                              "",
	} {
		var out bytes.Buffer
		if err := List(&out, pattern, true); err != nil || out.String() != want {
			t.Errorf("%s: %v\n%s", pattern, err, &out)
		}
	}
	var out bytes.Buffer
	if err := List(&out, "uprobe:libc:getppi*", false); err != nil || !strings.Contains(out.String(), "uprobe:libc:getppid\n") {
		t.Errorf("functions: %v\n%s", err, &out)
	}
}

func TestPeerTracepointsAreListedAsBpftraceListsThem(t *testing.T) {
	if _, err := exec.LookPath("bpftrace"); err != nil || os.Geteuid() != 0 {
		t.Skip("bpftrace is not installed, or this is not root")
	}
	// Not all: others' probes come and go among them.
	for _, pattern := range []string{"tracepoint:syscalls:*", "tracepoint:sched:*", "tracepoint:block:*", "tracepoint:irq:*"} {
		want, err := exec.Command("bpftrace", "-lv", pattern).Output()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := List(&out, pattern, true); err != nil || out.String() != string(want) {
			t.Errorf("%s: %v: %d lines, bpftrace %d", pattern, err, strings.Count(out.String(), "\n"), bytes.Count(want, []byte("\n")))
		}
	}
}

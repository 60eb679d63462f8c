package session

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

func TestLiveListsHaveWhatBpftraceLists(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracefs")
	}
	for pattern, want := range map[string]string{
		"tracepoint:syscalls:sys_enter_getppid": "tracepoint:syscalls:sys_enter_getppid\n    int __syscall_nr\n",
		"t:syscalls:sys_e*_getppid":             "tracepoint:syscalls:sys_enter_getppid\n    int __syscall_nr\ntracepoint:syscalls:sys_exit_getppid\n    int __syscall_nr\n    long ret\n",
		"it:task_*": "iter:task_file\n    struct task_struct * task\n    int fd\n    struct file * file\n" +
			"iter:task_vma\n    struct task_struct * task\n    struct vm_area_struct * vma\n",
		"s:page*":      "software:page-faults:\n",
		"*:cpu:":       "software:cpu:\n",
		"*:cpu-c[yl]*": "hardware:cpu-cycles:\nsoftware:cpu-clock:\n",
		"nosuch:*":     "",
	} {
		var out bytes.Buffer
		if err := (Lister{Out: &out, Fields: true}).List(pattern); err != nil || out.String() != want {
			t.Errorf("%s: %v\n%s", pattern, err, &out)
		}
	}
	raw := "rawtracepoint:sys_exit\n"
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err == nil {
		raw += "    struct pt_regs *regs\n    long int ret\n"
	}
	var out bytes.Buffer
	if err := (Lister{Out: &out, Fields: true}).List("rawtracepoint:vmlinux:sys_exi?"); err != nil || out.String() != raw {
		t.Errorf("raw tracepoints: %v\n%s", err, &out)
	}
	out.Reset()
	if err := (Lister{Out: &out}).List("uprobe:libc:getppi*"); err != nil || !strings.Contains(out.String(), "uprobe:libc:getppid\n") {
		t.Errorf("functions: %v\n%s", err, &out)
	}
}

func TestPeerTracepointsAreListedAsBpftraceListsThem(t *testing.T) {
	if _, err := exec.LookPath("bpftrace"); err != nil || os.Geteuid() != 0 {
		t.Skip("bpftrace is not installed, or this is not root")
	}
	// Not all: others' probes come and go among them.
	for _, pattern := range []string{"tracepoint:syscalls:*", "tracepoint:sched:*", "tracepoint:block:*", "tracepoint:irq:*"} {
		var out bytes.Buffer
		if err := (Lister{Out: &out, Fields: true}).List(pattern); err != nil {
			t.Fatal(err)
		}
		ours := tracepointsOf(out.String())
		// bpftrace reads available_events, which lacks some while others' probes go: not the same each time.
		lacking := slices.Clone(ours)
		for end := time.Now().Add(testlimit.End); len(lacking) > 0; {
			list, err := exec.Command("bpftrace", "-lv", pattern).Output()
			if err != nil {
				t.Fatal(err)
			}
			theirs := tracepointsOf(string(list))
			isTheirs := func(p string) bool { return slices.Contains(theirs, p) }
			both := slices.DeleteFunc(slices.Clone(ours), func(p string) bool { return !isTheirs(p) })
			if lacking = slices.DeleteFunc(lacking, isTheirs); !slices.Equal(both, theirs) || time.Now().After(end) {
				t.Fatalf("%s: bpftrace lists %d, of which %d are ours, and never %q", pattern, len(theirs), len(both), lacking)
			}
		}
	}
}

// tracepointsOf splits a list into tracepoints, each with the lines of its fields.
func tracepointsOf(list string) (all []string) {
	for line := range strings.Lines(list) {
		if strings.HasPrefix(line, " ") && len(all) > 0 {
			all[len(all)-1] += line
		} else {
			all = append(all, line)
		}
	}
	return all
}

func TestLiveListsTakeFilesProgramsAndProcesses(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const name = "session.TestLiveListsTakeFilesProgramsAndProcesses"
	function := "uprobe:" + exe + ":github.com/ringtap/ringtap/internal/bpftrace/" + name + "\n"
	program := filepath.Join(t.TempDir(), "program.bt")
	if err := os.WriteFile(program, []byte("interval:s:1 { exit(); } uprobe:"+exe+":\"*"+name+"\" { @ = count(); }"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		pids    []int
		pattern string
		want    string
	}{
		{nil, "uprobe:" + exe[:len(exe)-1] + "*:*" + name, function},
		{nil, "uprobe:" + exe + ":*" + name + ",s:page*", function + "software:page-faults:\n"},
		{[]int{os.Getpid()}, "uprobe:*:*" + name, function},
		{[]int{os.Getpid()}, "uprobe::*" + name, function},
		{nil, "interval:*", "interval:hz:\ninterval:ms:\ninterval:s:\ninterval:us:\n"},
		{nil, program, "interval:s:\n" + function},
	} {
		var out bytes.Buffer
		if err := (Lister{Out: &out, PIDs: test.pids}).List(test.pattern); err != nil || out.String() != test.want {
			t.Errorf("%s: %v\n%s", test.pattern, err, &out)
		}
	}
	if err := (Lister{Out: io.Discard}).List("uprobe:*:f"); err == nil {
		t.Error("any file of no process is listed")
	}
}

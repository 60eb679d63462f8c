package session

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/scripts"
)

// The one-liners of bpftrace's tutorial, and those that people write first.
func TestLiveOneLinersSeeWhatAProcessDoes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	function := `"github.com/ringtap/ringtap/internal/bpftrace/session.knownCall"`
	for _, test := range []struct {
		name, text string
		want       string // a pattern
		times      int    // that it matches, 0 for any number but none
	}{
		{"hello world", `BEGIN { printf("hello world\n"); }`, `hello world\n`, 1},
		{"opens by name", `tracepoint:syscalls:sys_enter_openat /pid == KNOWN/ { printf("%s %s\n", comm, str(args.filename)); }`,
			`exe ~?/nonexistent/of-the-tests-of-shipped-programs/\d+\n`, known},
		{"system calls by process", `tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }`, `@\[exe\]: \d{3,}`, 1},
		{"sizes of reads", `tracepoint:syscalls:sys_exit_read /pid == KNOWN/ { @bytes = hist(args.ret); }`, `\[512, 1K\) +100 \|`, 1},
		{"results of a kernel function", `kretprobe:vfs_read /pid == KNOWN/ { @bytes = lhist(retval, 0, 2000, 200); }`, `\[400, 600\) +100 \|`, 1},
		{"times of a kernel function", `kprobe:vfs_read { @start[tid] = nsecs; }
			kretprobe:vfs_read /@start[tid]/ { @ns[comm] = hist(nsecs - @start[tid]); delete(@start, tid); } END { clear(@start); }`, `@ns\[exe\]: \n`, 1},
		{"the scheduler's events", `tracepoint:sched:sched* { @[probe] = count(); }`, `@\[tracepoint:sched:sched_switch\]: \d+`, 1},
		{"kernel stacks by time", `profile:hz:9999 { @[kstack] = count(); }`, `@\[(\n.*)*\]: \d+`, 0},
		{"kernel stacks of switches", `tracepoint:sched:sched_switch { @[kstack] = count(); }`, `\n +\w*schedule\w*\+\d+`, 0},
		{"sizes of block requests", `tracepoint:block:block_rq_issue { @ = hist(args.bytes); } END { printf("end\n"); }`, `end`, 1},
		{"a path in the kernel", `kprobe:vfs_open /pid == KNOWN/ { printf("open path: %s\n", str(((struct path *)arg0)->dentry->d_name.name)); }`,
			`open path: zero\n`, 1},
		{"a function's stack", "uprobe:" + exe + ":" + function + ` { printf("hello%s\n", ustack(3)); }`,
			`hello\n +.*session\.knownCall\+0\n +.*session\.\S+\+\d+\n`, known},
		{"a function in a container", "uprobe:/proc/KNOWN/root" + exe + ":" + function + ` { @[probe != "", arg0] = count(); }`, `@\[true, \d+\]: 1\n`, known},
		{"words of new processes", `tracepoint:syscalls:sys_enter_execve { $n = 2; printf("%s,%s,%s,%s.\n", str(args.argv[0]), str(args.argv[2]), str(args.argv[2], $n), str(args.argv[4])); }`,
			`\n~?/bin/bash,~?--,~?--,~?\.\n`, 1},
		{"new processes", `tracepoint:syscalls:sys_enter_execve { join(args.argv); }`, `\n~?/bin/bash -s -- -\n`, 1},
		{"all functions of a library", `uprobe:libc:setlocal* { time("%H:%M:%S "); printf("%s %s\n", comm, probe); }`,
			`\d\d:\d\d:\d\d bash uprobe:.*:setlocale\n`, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if strings.Contains(test.text, "probe:vfs_") && !tracefs.Has("kprobe_events") {
				t.Skip("kprobe_events: the kernel is built without CONFIG_KPROBE_EVENTS")
			}
			if strings.Contains(test.text, "struct path") && !hasTypes() {
				t.Skip("CONFIG_DEBUG_INFO_BTF")
			}
			k := startKnown(t, "everything", "")
			text := strings.ReplaceAll(test.text, "KNOWN", fmt.Sprint(k.cmd.Process.Pid))
			out := k.watchedBy(t, scripts.Program{Name: "one-liner", Text: text}, nil)
			n := len(regexp.MustCompile(test.want).FindAllString(out, -1))
			if n == 0 || test.times > 0 && n != test.times {
				t.Errorf("%d times %s, want %d, in\n%s", n, test.want, test.times, out)
			}
		})
	}
}

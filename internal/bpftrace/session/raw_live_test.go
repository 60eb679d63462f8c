package session

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
)

// needRawArguments skips a test where the arguments of raw tracepoints can't be had.
func needRawArguments(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	needKprobes(t)
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		t.Skip("CONFIG_DEBUG_INFO_BTF")
	}
	err := (&env{}).RawArguments(&syntax.AttachPoint{Args: []string{"raw_syscalls", "sys_enter"}})
	if runtime.GOARCH == "arm64" {
		if err == nil {
			t.Error("arguments are promised of a function that is never called")
		}
		t.Skip("arm64 has no static calls")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A tracepoint that others use too calls the function once.
func TestLiveRawTracepointsHaveArguments(t *testing.T) {
	needRawArguments(t)
	out := traced(t, fmt.Sprintf(`BEGIN { printf("ready\n"); }
t:raw_syscalls:sys_enter / pid == $1 && args.id == %[1]d / { @recorded = count(); }
rt:sys_enter / pid == $1 && arg1 == %[1]d / { @numbered[probe] = count(); }
rawtracepoint:vmlinux:sys_enter / pid == $1 && args.id == %[1]d / { @named[args.regs == arg0] = count(); }`, unix.SYS_GETPPID))
	for _, want := range []string{
		fmt.Sprintf("\n@recorded: %d\n", calls), fmt.Sprintf("\n@numbered[rawtracepoint:sys_enter]: %d\n", calls),
		fmt.Sprintf("\n@named[true]: %d\n", calls),
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// The name of a program's file is behind an argument.
func TestLiveArgumentsOfRawTracepointsLeadToTheKernelsMemory(t *testing.T) {
	needRawArguments(t)
	out, stderr := besides(t, `rt:sched_process_exec { printf("exec %s %d %s\n", args.p->comm, args.p->tgid == pid, str(args.bprm->filename)); }
rt:sched_process_exit { printf("exit %s %d\n", ((struct task_struct *)arg0)->comm, args.p->pid == tid); }`,
		func() { _ = exec.Command("/proc/self/exe", "-test.run=^$").Run() })
	for _, want := range []string{`(?m)^exec \S+ 1 /proc/self/exe$`, `(?m)^exit \S+ 1$`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no line %q in\n%s%s", want, out, stderr)
		}
	}
}

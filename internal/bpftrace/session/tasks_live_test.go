package session

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/process"
)

// echoing is a process that writes what it reads, and waits for more.
func echoing(t *testing.T) (pid int, echo func(line string)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(out)
	return cmd.Process.Pid, func(line string) {
		if _, err := io.WriteString(in, line); err != nil {
			t.Error(err)
		}
		if got, err := lines.ReadString('\n'); err != nil || got != line {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// The process is there when its struct is read. Its address is where it was at the hit.
func TestLiveMembersOfCurtaskAreReadInTheKernel(t *testing.T) {
	needTypes(t)
	needKernelMemory(t)
	pid, echo := echoing(t)
	const lines = 20
	echo("started\n") // flags of a process that begins to run a program are others
	stat, err := process.Host{}.Read(pid, "stat")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	exe, err := process.Host{}.Link(pid, "exe")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("~1 ~%s ~%s ~cat 1\n", strings.Fields(string(rest))[6], filepath.Base(exe))
	for _, probe := range []string{"tracepoint:syscalls:sys_enter_write", "kprobe:vfs_write"} {
		t.Run(probe, func(t *testing.T) {
			if strings.HasPrefix(probe, "kprobe") {
				needKprobes(t)
			}
			out, stderr := besides(t, probe+` / pid == $1 / { printf("%d %d %s %s ", curtask.signal.nr_threads, curtask.flags,
	str(curtask.mm.exe_file.f_path.dentry.d_name.name), str(curtask.mm.arg_start));
	@one = curtask; printf("%d\n", @one == curtask); @tasks[curtask] = count(); }
END { printf("%d tasks\n", len(@tasks)); clear(@tasks); clear(@one); }`, func() {
				for i := range lines {
					echo(fmt.Sprintln("line", i))
				}
			}, fmt.Sprint(pid))
			if n := strings.Count(out, want); n != lines || !strings.Contains(out, "\n1 tasks\n") || strings.Contains(stderr, "WARNING") {
				t.Errorf("%d lines %q, want %d, in\n%s%s", n, want, lines, out, stderr)
			}
		})
	}
}

// The thread that a CPU switches from is the current one.
func TestLiveTheAddressOfCurtaskIsExact(t *testing.T) {
	needKernelMemory(t)
	needRawArguments(t)
	pid, echo := echoing(t)
	out, stderr := besides(t, `rt:sched_switch / tid == $1 / { @switches[args.prev == curtask] = count(); }`, func() {
		for i := range 20 {
			echo(fmt.Sprintln("line", i))
		}
	}, fmt.Sprint(pid))
	if !strings.Contains(out, "\n@switches[true]: ") || strings.Contains(out, "[false]") || strings.Contains(stderr, "WARNING") {
		t.Errorf("%s%s", out, stderr)
	}
}

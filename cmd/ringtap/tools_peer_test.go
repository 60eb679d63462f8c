package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// toolCalls are what the known program does for the tools, n times each.
func toolCalls(n int) {
	hosts, nowhere := cString("/etc/hosts"), cString("/nonexistent/of-the-tests")
	dir, err := os.MkdirTemp("", "tools")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		panic(err)
	}
	defer file.Close()
	for range n {
		for _, name := range []*byte{hosts, nowhere} {
			at := uintptr(unsafe.Pointer(name))
			if fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(0), at, unix.O_RDONLY, 0, 0, 0); errno == 0 {
				_ = unix.Close(int(fd))
			}
			_, _, _ = unix.Syscall(unix.SYS_STATFS, at, uintptr(unsafe.Pointer(new(unix.Statfs_t))), 0)
		}
		_ = unix.Kill(os.Getpid(), 0)
		_ = unix.Kill(os.Getpid(), unix.SIGCONT)
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 23e6}, nil) // not what the runtime sleeps
		_ = unix.Setfsuid(os.Getuid())
		_, _ = file.Write(make([]byte, 4096))
		_ = unix.Fsync(int(file.Fd()))
		_ = unix.Fdatasync(int(file.Fd()))
		for range 1000 {
			_, _ = unix.Getsid(0)
		}
		for _, command := range [][]string{
			{"/bin/echo", "of", "the", "tests"}, {"getent", "ahosts", "localhost"},
		} {
			if err := exec.Command(command[0], command[1:]...).Run(); err != nil {
				panic(fmt.Sprint(command, ": ", err))
			}
		}
		lines := exec.Command("bash", "--norc", "-i")
		lines.Stdin = strings.NewReader(": a line of the tests\n")
		if err := lines.Run(); err != nil {
			panic(err)
		}
	}
}

// Both watch the same calls of the known program, and print the same lines of them.
func TestPeerDebiansToolsPrintWhatBpftracePrints(t *testing.T) {
	needTracefs(t, "uprobe_events")
	const rounds = 5
	for _, test := range []struct {
		tool  string
		keep  string // the lines of the program's calls: PID is its number
		mask  string // what differs: times, and ringtap's marks of texts that were read late
		lines int    // as many
	}{
		{"opensnoop", `^PID .*(/etc/hosts|/nonexistent/of-the-tests)$`, `~`, 2 * rounds},
		{"statsnoop", `^PID .*(/etc/hosts|/nonexistent/of-the-tests)$`, `~`, 2 * rounds},
		{"killsnoop", ` PID .* PID +-?\d+$`, `^\S+ `, 2 * rounds},
		// The parent is the thread that started the process, of which /proc knows the process alone.
		// Times in memory of Go are read a moment after the hit, and marked.
		{"naptime", ` PID .* ~?0\.~?023$`, `^(\S*:\S* )*\d+ |~`, rounds},
		{"setuids", ` PID .* setfsuid `, `^\S+ `, rounds},
		{"syncsnoop", ` PID .*sync$`, `^\S+ `, 2 * rounds},
		{"syscount", fmt.Sprintf(`^@syscall\[%d\]`, unix.SYS_GETSID), ``, 1},
		{"execsnoop", ` ~?/bin/echo of the tests$`, `^\d+ |~`, rounds},
		{"gethostlatency", ` getent .* localhost$`, `^\S+ |\d+\.\d+`, rounds},
		{"bashreadline", `a line of the tests$`, `^\S+ `, rounds},
	} {
		t.Run(test.tool, func(t *testing.T) {
			file := debiansTool(t, test.tool)
			k := startKnown(t, "tools", rounds)
			ours, theirs := besideBpftrace(t, k, file)
			line := regexp.MustCompile(strings.ReplaceAll(test.keep, "PID", k.pid()))
			want := linesOf(theirs, line, test.mask)
			if len(want) != test.lines {
				t.Errorf("bpftrace prints %d lines of the program's calls, want %d\n%s", len(want), test.lines, theirs)
			}
			if got := linesOf(ours, line, test.mask); !slices.Equal(got, want) {
				t.Errorf("%d lines, bpftrace prints %d\n%s\nbpftrace:\n%s", len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// linesOf returns the lines that a pattern matches, without what is masked, in order: those of
// different CPUs may come in any.
func linesOf(text string, line *regexp.Regexp, mask string) []string {
	var found []string
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		if line.MatchString(l) {
			if mask != "" {
				l = regexp.MustCompile(mask).ReplaceAllString(l, "")
			}
			found = append(found, strings.Join(strings.Fields(l), " "))
		}
	}
	slices.Sort(found)
	return found
}

// Of 0.17's lengths the end is one more.
func TestPeerTextsAreCutWhereBpftraceCutsThem(t *testing.T) {
	needTracefs(t, "uprobe_events")
	version, err := exec.Command("bpftrace", "--version").Output()
	if err != nil || !strings.Contains(string(version), "v0.17") {
		t.Skip("bpftrace 0.17 is not installed")
	}
	const rounds = 1
	k := startKnown(t, "tools", rounds)
	program := filepath.Join(t.TempDir(), "cut.bt")
	text := `tracepoint:syscalls:sys_enter_statfs / pid == ` + k.pid() + ` / {
	$n = (uint64)args->pathname - (uint64)args->pathname;
	printf("cut: %s|%s|%s|%s|%s\n", str(args->pathname, 0), str(args->pathname, 1), str(args->pathname, 5), str(args->pathname, 70), str(args->pathname, $n + 3));
	printf("cut: %d %d\n", str(args->pathname, 5) == "/etc/", str(args->pathname, $n + 4) == "/etc");
}
`
	if err := os.WriteFile(program, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	ours, theirs := besideBpftrace(t, k, program, "--dialect", "0.17")
	line := regexp.MustCompile("^cut: ")
	want := linesOf(theirs, line, "")
	if len(want) != 4*rounds {
		t.Errorf("bpftrace prints %d lines of the program's calls, want %d\n%s", len(want), 4*rounds, theirs)
	}
	if got := linesOf(ours, line, "~"); !slices.Equal(got, want) {
		t.Errorf("it prints\n%s\nbpftrace:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

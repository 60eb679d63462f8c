package proc

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestStatIsReadWhateverTheName(t *testing.T) {
	const rest = " 1 2 3 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 7 0 4242 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 5 0 0\n"
	tests := []struct {
		text  string
		want  Stat
		ok    bool
		ended bool
	}{
		{"12 (sh) S" + rest, Stat{Comm: "sh", State: 'S', Flags: 4194304, Threads: 7, Start: 4242, CPU: 5}, true, false},
		{"12 (a) Z (b) R" + rest, Stat{Comm: "a) Z (b", State: 'R', Flags: 4194304, Threads: 7, Start: 4242, CPU: 5}, true, false},
		{"12 (a) S) X 1 2", Stat{Comm: "a) S", State: 'X', CPU: -1}, true, true},
		{"12 (sh) Z 1 2", Stat{Comm: "sh", State: 'Z', CPU: -1}, true, true},
		{"12 (sh)", Stat{}, false, false},
		{"", Stat{}, false, false},
	}
	for _, tt := range tests {
		got, ok := ParseStat([]byte(tt.text))
		if got != tt.want || ok != tt.ok || got.Ended() != tt.ended {
			t.Errorf("ParseStat(%q) = %+v, %v", tt.text, got, ok)
		}
	}
}

// The kernel tells the same by other ways.
func TestLiveIsThisMachine(t *testing.T) {
	pid := os.Getpid()
	pids, err := Live.Processes()
	if err != nil || !slices.Contains(pids, pid) || !slices.IsSorted(pids) {
		t.Errorf("%d is not among the processes %v: %v", pid, pids, err)
	}
	tids, err := Live.Threads(pid)
	if err != nil || !slices.Contains(tids, unix.Gettid()) {
		t.Errorf("%d is not among the threads %v: %v", unix.Gettid(), tids, err)
	}
	if tgid, err := Live.StatusNumber(unix.Gettid(), "Tgid"); err != nil || tgid != pid {
		t.Errorf("the process is %d, %v", tgid, err)
	}
	if _, err := Live.StatusNumber(pid, "NoSuchLine"); err == nil {
		t.Error("a line that does not exist has a number")
	}
	if same, err := Live.SameNamespace(pid, "mnt"); err != nil || !same {
		t.Errorf("our own namespace is another: %v", err)
	}
	if !Live.Exists(pid) || Live.Exists(1<<30) {
		t.Error("who exists is not known")
	}
	want, err := exec.Command("sysctl", "-n", "kernel.perf_event_max_stack").Output()
	if err == nil {
		if got, err := Live.Sysctl("kernel/perf_event_max_stack"); err != nil || got != strings.TrimSpace(string(want)) {
			t.Errorf("kernel.perf_event_max_stack is %q, %v, and sysctl says %q", got, err, want)
		}
	}
}

func TestTreeStandsInForTheMachine(t *testing.T) {
	tree := FS(t.TempDir())
	for name, text := range map[string]string{"7/status": "Name:\tTgid:\nTgid:\t6\n", "7/task/9/x": "", "7/task/8/x": "", "12/x": "", "acpi/x": ""} {
		if err := os.MkdirAll(filepath.Dir(tree.Name(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(tree.Name(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if pids, err := tree.Processes(); err != nil || !slices.Equal(pids, []int{7, 12}) {
		t.Errorf("processes %v, %v", pids, err)
	}
	if tids, err := tree.Threads(7); err != nil || !slices.Equal(tids, []int{8, 9}) {
		t.Errorf("threads %v, %v", tids, err)
	}
	if n, err := tree.StatusNumber(7, "Tgid"); err != nil || n != 6 {
		t.Errorf("Tgid %d, %v", n, err)
	}
	if _, err := tree.Threads(12); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process without threads: %v", err)
	}
}

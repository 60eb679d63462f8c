package proc

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
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
		{"12 (sh) S" + rest, Stat{Comm: "sh", State: 'S', Flags: 4194304, Threads: 7, Start: 4242, CPU: 5, timed: true}, true, false},
		{"12 (a) Z (b) R" + rest, Stat{Comm: "a) Z (b", State: 'R', Flags: 4194304, Threads: 7, Start: 4242, CPU: 5, timed: true}, true, false},
		{"12 (a) S) X 1 2", Stat{Comm: "a) S", State: 'X', CPU: -1}, true, true},
		{"12 (sh) Z 1 2", Stat{Comm: "sh", State: 'Z', CPU: -1}, true, true},
		{"12 (sh)", Stat{}, false, false},
		{"", Stat{}, false, false},
	}
	for _, tt := range tests {
		got, ok := parseStat([]byte(tt.text))
		if got != tt.want || ok != tt.ok || got.Ended() != tt.ended {
			t.Errorf("parseStat(%q) = %+v, %v", tt.text, got, ok)
		}
	}
}

func TestCPUTicksAreOfAProcessAndItsChildren(t *testing.T) {
	tests := []struct {
		text         string
		user, system uint64
		ok           bool
	}{
		{"7 (sh) S 1 7 7 0 -1 4194304 99 98 0 0 12 3 400 50 20 0 1 0 5 6 7", 412, 53, true},
		{"7 (a) b) S 1 7 7 0 -1 4194304 99 98 0 0 1 2 3 4 20 0 1 0 5 6 7", 4, 6, true},
		{"7 (sh) S 1 7 7 0 -1 4194304 99 98 0 0 12 3 400", 0, 0, false},
		{"7 (sh) S 1 7 7 0 -1 4194304 99 98 0 0 12 3 x 50 20", 0, 0, false},
		{"7 (sh) S", 0, 0, false},
	}
	for _, tt := range tests {
		stat, _ := parseStat([]byte(tt.text))
		user, system, ok := stat.CPUTicks()
		if ok != tt.ok || ok && (user != tt.user || system != tt.system) {
			t.Errorf("CPUTicks of %q: %d, %d, %v, want %d, %d, %v", tt.text, user, system, ok, tt.user, tt.system, tt.ok)
		}
	}
}

func TestStatIsReadOfProcessesAndThreads(t *testing.T) {
	pid := strconv.Itoa(os.Getpid())
	for _, dir := range []string{"self", pid, pid + "/task/" + pid} {
		if stat, err := Live.Stat(dir); err != nil || stat.Start == 0 || stat.Ended() || stat.Exiting() {
			t.Errorf("the test itself by %s: %+v, %v", dir, stat, err)
		}
	}
	var gone *fs.PathError
	if stat, err := Live.Stat("1073741824"); !errors.As(err, &gone) {
		t.Errorf("a process that does not exist: %+v, %v", stat, err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (a) Z (b) R 1 2 3 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 7 0 4242 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 5 0 0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		stat, ok := parseStat(text)
		if !ok && stat != (Stat{}) {
			t.Errorf("%q is no stat file, but %+v", text, stat)
		}
		if !bytes.Contains(text, []byte(stat.Comm)) {
			t.Errorf("the name %q is not in %q", stat.Comm, text)
		}
	})
}

func BenchmarkParseStat(b *testing.B) {
	text := []byte("12 (sh) S 1 2 3 0 -1 4194304 100 200 300 400 12 13 14 15 20 0 7 0 4242 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 5 0 0\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := parseStat(text); !ok {
			b.Fatal("it has no state")
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

func TestAFileOfThisProcessHasItsInode(t *testing.T) {
	var st unix.Stat_t
	if err := unix.Stat(Live.Self("ns/pid"), &st); err != nil {
		t.Fatal(err)
	}
	if got := Live.Inode("self/ns/pid"); got != st.Ino || got == 0 {
		t.Errorf("our pid namespace is %d, want %d", got, st.Ino)
	}
	if got := Live.Inode("self/ns/no-such"); got != 0 {
		t.Errorf("a namespace that does not exist is %d", got)
	}
}

func TestAllThreadsOfThisProcessAreNamed(t *testing.T) {
	before := Live.Comm(os.Getpid())
	t.Cleanup(func() {
		if err := Live.NameThreads(before); err != nil {
			t.Error(err)
		}
	})
	if err := Live.NameThreads("proc-test"); err != nil {
		t.Fatal(err)
	}
	tids, err := Live.Threads(os.Getpid())
	if err != nil || len(tids) == 0 {
		t.Fatal(tids, err)
	}
	for _, tid := range tids {
		if comm := Live.Comm(tid); comm != "proc-test" && Live.Exists(tid) {
			t.Errorf("thread %d is called %q", tid, comm)
		}
	}
}

func TestMountsAndTheControlGroupOfThisProcessAreRead(t *testing.T) {
	tree := FS(t.TempDir())
	if mounts, err := tree.Mounts(); !errors.Is(err, fs.ErrNotExist) || mounts != nil {
		t.Errorf("without a file: %v, %v", mounts, err)
	}
	if path := tree.CgroupV2(); path != "" {
		t.Errorf("without a file the control group is %q", path)
	}
	err := errors.Join(os.Mkdir(tree.Name("self"), 0o755),
		os.WriteFile(tree.Self("mounts"), []byte("cgroup2 /a\\040b\\134 cgroup2 rw,nosuid 0 0\nbad\n"), 0o644),
		os.WriteFile(tree.Self("cgroup"), []byte("4:perf_event:/x\n0::/user.slice/a b\n"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := tree.Mounts()
	if want := []Mount{{`/a b\`, "cgroup2", []string{"rw", "nosuid"}}}; err != nil || !reflect.DeepEqual(mounts, want) {
		t.Errorf("mounts %q, %v, want %q", mounts, err, want)
	}
	if path := tree.CgroupV2(); path != "/user.slice/a b" {
		t.Errorf("the control group is %q", path)
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

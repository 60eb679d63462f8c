package target_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/process"
)

// machine is a tree of /proc with processes "pid parent pid-in-its-namespace name".
func machine(t *testing.T, processes ...string) process.Host {
	t.Helper()
	dir := t.TempDir()
	for _, p := range processes {
		f := strings.Fields(p)
		at := filepath.Join(dir, f[0])
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{
			"comm":    f[3] + "\n",
			"cmdline": "/usr/bin/" + f[3] + "-program\x00-x\x00" + strings.Join(f[4:], "\x00"),
			"status":  "Name:\t" + f[3] + "\nState:\tS (sleeping)\nTgid:\t" + f[0] + "\nPid:\t" + f[0] + "\nPPid:\t" + f[1] + "\nNStgid:\t" + f[0] + "\t" + f[2] + "\n",
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return process.Host{Proc: dir}
}

func family(t *testing.T) process.Host {
	return machine(t, "10 1 1 server", "11 10 2 worker", "12 11 3 helper", "13 1 1 server", "14 1 7 other", "15 1 8 python3 /srv/job.py now")
}

func TestNamesStandForProcesses(t *testing.T) {
	own := strconv.Itoa(os.Getpid())
	for _, test := range []struct {
		names       string
		tree        bool
		roots, pids []int
		err         string
		wrong       bool // the command line is to blame
	}{
		{names: "10", roots: []int{10}, pids: []int{10}},
		{names: "99", roots: []int{99}, pids: []int{99}}, // who opens it says that it is not there
		{names: "server", roots: []int{10, 13}, pids: []int{10, 13}},
		{names: "server-program 10", roots: []int{10, 13}, pids: []int{10, 13}},
		{names: "/usr/bin/other-program", roots: []int{14}, pids: []int{14}},
		{names: "10", tree: true, roots: []int{10}, pids: []int{10, 11, 12}},
		{names: "12 server", tree: true, roots: []int{12, 10, 13}, pids: []int{12, 10, 11, 13}},
		{names: "nobody", err: `-p: no process is named "nobody"`},
		{names: "servr", err: `-p: no process is named "servr"; did you mean server?`},
		{names: "job.py", err: `-p: no process is named "job.py"; did you mean 15 (python3-program -x /srv/job.py now)?`},
		{names: "0", err: "-p 0 is not a process id", wrong: true},
		{names: "-5", err: "-p -5 is not a process id", wrong: true},
		{names: "99999999999999999999", err: "-p 99999999999999999999 is not a process id", wrong: true},
		{names: own, err: "process " + own + " is this ringtap, which leaves itself out", wrong: true},
	} {
		to := target.Target{Tree: test.tree}
		err := to.Find(family(t), strings.Fields(test.names))
		if test.err != "" {
			if err == nil || err.Error() != test.err || errors.As(err, new(*usage.Error)) != test.wrong {
				t.Errorf("%s: %v, want %s", test.names, err, test.err)
			}
			continue
		}
		if err != nil || !slices.Equal(to.Roots, test.roots) || !slices.Equal(to.PIDs, test.pids) || to.Whole() {
			t.Errorf("%s: %v and %v, %v; want %v and %v", test.names, to.Roots, to.PIDs, err, test.roots, test.pids)
		}
	}
}

func TestWhatIsNotNarrowedIsTheWholeSystem(t *testing.T) {
	for _, of := range []target.Target{{TID: 5}, {PIDs: []int{5, 6}}, {Cgroup: "/sys/fs/cgroup/a"}, {Command: []string{"true"}}} {
		if of.Whole() {
			t.Errorf("%+v is the whole system", of)
		}
	}
	if !(&target.Target{}).Whole() {
		t.Error("no target is not the whole system")
	}
}

func TestChildrenThatAreNotWatchedAreNoted(t *testing.T) {
	for _, test := range []struct {
		of   target.Target
		want string
	}{
		{target.Target{Roots: []int{10}}, "2 existing children of 10 are not watched; --tree watches them"},
		{target.Target{Roots: []int{11, 13}}, "1 existing child of 11,13 is not watched; --tree watches it"},
		{target.Target{Roots: []int{12}}, ""},
		{target.Target{Roots: []int{10}, Tree: true}, ""},
		{target.Target{}, ""},
	} {
		if got := test.of.Note(family(t)); got != test.want {
			t.Errorf("%+v: %q, want %q", test.of, got, test.want)
		}
	}
}

func TestASearchTellsWhatWasAskedForByNumber(t *testing.T) {
	for _, test := range []struct {
		names, err string
		tree       bool
		pids       []int
		asked      []int
	}{
		{names: "server 14", pids: []int{10, 13, 14}, asked: []int{14}},
		{names: "13 server", pids: []int{13, 10}, asked: []int{13}},
		{names: "11", tree: true, pids: []int{11, 12}, asked: []int{11}},
		{names: "nobody", err: `no process is named "nobody"`},
		{names: "job.py", err: `no process is named "job.py"; did you mean 15 (python3-program -x /srv/job.py now)?`},
		{names: "0", err: `"0" is not a process id`},
	} {
		search := target.Search{Names: strings.Fields(test.names), Tree: test.tree}
		pids, asked, err := search.Find(family(t))
		if test.err != "" {
			if err == nil || err.Error() != test.err {
				t.Errorf("%s: %v, want %s", test.names, err, test.err)
			}
			continue
		}
		if err != nil || !slices.Equal(pids, test.pids) {
			t.Errorf("%s: %v, %v; want %v", test.names, pids, err, test.pids)
		}
		for _, pid := range pids {
			if asked[pid] != slices.Contains(test.asked, pid) {
				t.Errorf("%s: that %d was asked for is %t", test.names, pid, asked[pid])
			}
		}
	}
}

func TestAThreadStandsForItsProcess(t *testing.T) {
	host := family(t)
	thread := filepath.Join(host.Proc, "20")
	if err := os.Mkdir(thread, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(thread, "status"), []byte("Name:\tpool\nTgid:\t10\nPid:\t20\nPPid:\t1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	search := target.Search{Names: []string{"20", "13", "other"}}
	notes := search.Owners(host)
	if len(notes) != 1 || notes[0] != "20 is a thread; showing its process 10 server" || !slices.Equal(search.Names, []string{"10", "13", "other"}) {
		t.Errorf("%q, then %v", notes, search.Names)
	}
}

// By name the caller is never meant.
func TestTheCallerIsNotFoundByName(t *testing.T) {
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Skip("sleep: ", err)
	}
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	var to target.Target
	err = to.Find(process.Host{}, []string{strings.TrimSpace(string(comm))})
	if slices.Contains(to.PIDs, os.Getpid()) || errors.As(err, new(*usage.Error)) {
		t.Errorf("%v, %v", to.PIDs, err)
	}
}

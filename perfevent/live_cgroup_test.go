package perfevent

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/truth"
)

func TestLiveCgroupSeesItsProcessesOnly(t *testing.T) {
	needRoot(t)
	dir := filepath.Join(truth.Cgroup2(t), "perfevent-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no cgroup can be made: %v", err)
	}
	defer os.Remove(dir) // for a test that fails before it does so
	in := startFaults(t, "2", "2", "2", "100")
	out := startFaults(t, "2", "2", "2", "100")
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(in.pid())), 0); err != nil {
		t.Fatal(err)
	}
	samplings := pageFaults()
	samplings[0].Cgroup = true
	s := open(t, InCgroup(dir), samplings, Options{})
	enable(t, s)
	var work []touched
	all := during(t, s, func() {
		out.work(6)
		work = in.work(6)
	})
	all.checkTouched(t, work)
	checkBooks(t, s)
	pids := map[uint32]bool{uint32(in.pid()): true}
	for _, f := range all.forks {
		if pids[f.PPID] {
			pids[f.PID] = true
		}
	}
	for _, f := range all.samples {
		if !pids[f.pid] {
			t.Errorf("a sample of process %d, which is not in the cgroup", f.pid)
		}
	}

	// A cgroup that goes away ends Read.
	gone := open(t, InCgroup(dir), samplings, Options{})
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "cgroup.procs"), []byte(strconv.Itoa(in.pid())), 0); err != nil {
		t.Fatal(err)
	}
	truth.RemoveCgroup(t, dir)
	read(t, gone, t.Context())
}

func TestLiveCgroupWithoutPerfSaysSo(t *testing.T) {
	needRoot(t)
	dirs := []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/tmp", "/no/such/cgroup"}
	tested := 0
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err != nil && dir != "/no/such/cgroup" {
			continue
		}
		tested++
		s, err := Open(InCgroup(dir), pageFaults(), Options{})
		if err == nil {
			s.Close()
			t.Errorf("%s was opened", dir)
			continue
		}
		var open *OpenError
		if !errors.Is(err, ErrNoTarget) || !errors.As(err, &open) || open.Hint == "" || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want ErrNoTarget with a hint", dir, err)
		}
	}
	if tested < 2 {
		t.Error("only one directory was tested")
	}
}

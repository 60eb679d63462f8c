package live

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

func TestNamespacesAreThoseOfProc(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "77", "ns"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, link := range map[string]string{"mnt": "mnt:[4026531841]", "net": "garbage"} {
		if err := os.Symlink(link, filepath.Join(dir, "77", "ns", name)); err != nil {
			t.Fatal(err)
		}
	}
	f := &feed{Attachment: &Attachment{}, processes: process.NewTable(process.Options{Host: process.Host{Proc: dir}})}
	defer f.processes.Close()
	sample := &perfevent.Sample{}
	sample.PID, sample.TID = pid, pid
	h := &hit{feed: f, sample: sample}
	for name, want := range map[string]uint64{"tid": pid, "ns/mnt": 4026531841, "ns/net": 0, "ns/uts": 0} {
		if v := ofTask(name)(h); v.N != want {
			t.Errorf("%s is %d, want %d", name, v.N, want)
		}
	}
}

func TestIdleThreadsAreCalledAsTheKernelCallsThem(t *testing.T) {
	h := hit{feed: &feed{Attachment: &Attachment{}}, sample: &perfevent.Sample{Header: perfevent.Header{CPU: 3}}}
	if name := h.Comm(); name != "swapper/3" {
		t.Errorf("CPU 3 idles in %q", name)
	}
}

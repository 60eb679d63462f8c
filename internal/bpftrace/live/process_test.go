package live

import (
	"fmt"
	"os"
	"testing"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

func TestNamespacesAreThoseOfProc(t *testing.T) {
	link, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	var mount uint64
	if _, err := fmt.Sscanf(link, "mnt:[%d]", &mount); err != nil {
		t.Fatal(link, err)
	}
	f := &feed{Attachment: &Attachment{}, processes: process.NewTable(process.Options{})}
	defer f.processes.Close()
	self, gone := uint32(os.Getpid()), uint32(1<<30)
	for _, tt := range []struct {
		tid  uint32
		name string
		want uint64
	}{{self, "tid", uint64(self)}, {self, "ns/mnt", mount}, {self, "ns/garbage", 0}, {gone, "ns/mnt", 0}} {
		sample := &perfevent.Sample{Header: perfevent.Header{PID: tt.tid, TID: tt.tid}}
		if v := ofTask(tt.name)(&hit{feed: f, sample: sample}); v.N != tt.want {
			t.Errorf("%s of thread %d is %d, want %d", tt.name, tt.tid, v.N, tt.want)
		}
	}
}

func TestIdleThreadsAreCalledAsTheKernelCallsThem(t *testing.T) {
	h := hit{feed: &feed{Attachment: &Attachment{}}, sample: &perfevent.Sample{Header: perfevent.Header{CPU: 3}}}
	if name := h.Comm(); name != "swapper/3" {
		t.Errorf("CPU 3 idles in %q", name)
	}
}

package live

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/perfevent"
)

func TestNodesOfCPUs(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"cpu0/node0", "cpu1/node12", "cpu2/nodes", "cpu11/node3"} {
		if err := os.MkdirAll(filepath.Join(root, "sys/devices/system/cpu", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	get := ofNode(root)
	for cpu, want := range map[uint32]uint64{0: 0, 1: 12, 2: 0, 11: 3, 99: 0} {
		for range 2 {
			h := &hit{sample: &perfevent.Sample{Header: perfevent.Header{CPU: cpu}}}
			if got := get(h).N; got != want {
				t.Errorf("CPU %d is of node %d, want %d", cpu, got, want)
			}
		}
	}
}

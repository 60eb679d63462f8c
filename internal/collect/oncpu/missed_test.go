package oncpu

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// writeStat writes what proc_pid_stat(5) tells about a process: its ticks in user mode and
// in the kernel, and those of the children that it has waited for.
func writeStat(t *testing.T, proc string, pid int, ticks [4]int) {
	t.Helper()
	dir := filepath.Join(proc, fmt.Sprint(pid))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%d (make) S 1 7 7 0 -1 4194304 0 0 0 0 %d %d %d %d 20 0 1 0 5 6 7\n", pid, ticks[0], ticks[1], ticks[2], ticks[3])
	if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTimeWithoutSamplesIsToldWhereEventsAreInherited(t *testing.T) {
	tests := []struct {
		name      string
		inherited bool
		userOnly  bool
		samples   uint64
		note      string // a part of it; "" for none
	}{
		{"children have no samples", true, false, 100, "used 1.6s of CPU time, and the samples show 100ms"},
		{"the kernel's part is not wanted", true, true, 100, "used 1.1s of CPU time in user mode, and the samples show 100ms"},
		{"as many samples as there may be", true, false, 1530, ""},
		{"more than there is time", true, true, 1600, ""},
		{"CPUs are watched", false, false, 100, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			proc := t.TempDir()
			c := &Collector{Event: perfevent.CPUClock(), Frequency: 1000, UserOnly: tt.userOnly, Watched: []int{7}}
			c.missed.host = process.Host{Proc: proc}
			writeStat(t, proc, 7, [4]int{100, 200, 0, 0})
			if tt.inherited {
				c.Inherits()
			}
			for _, ticks := range [][4]int{{110, 205, 50, 20}, {110, 205, 100, 45}} {
				writeStat(t, proc, 7, ticks)
				c.missed.samples = tt.samples / 2
				c.Notes(false)
			}
			noted, _ := c.Notes(true)
			notes := strings.Join(noted, "\n")
			if tt.note == "" && notes != "" || !strings.Contains(notes, tt.note) {
				t.Errorf("the notes are %q, want %q", notes, tt.note)
			}
		})
	}
}

package ftrace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEventIDReadsTheNumberOfTheEvent(t *testing.T) {
	for _, test := range []struct {
		name, file string
		id         uint64
		ok         bool
	}{
		{"as the kernel writes it", "314\n", 314, true},
		{"the largest", "18446744073709551615\n", 1<<64 - 1, true},
		{"empty", "", 0, false},
		{"not a number", "sched_switch\n", 0, false},
		{"negative", "-1\n", 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			tracefs := At(t.TempDir())
			dir := filepath.Join(tracefs.Dir(), "events", "sched", "sched_switch")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "id"), []byte(test.file), 0o644); err != nil {
				t.Fatal(err)
			}
			if id, err := tracefs.EventID("sched", "sched_switch"); id != test.id || (err == nil) != test.ok {
				t.Errorf("EventID = %d, %v; want %d, %t", id, err, test.id, test.ok)
			}
		})
	}
}

func TestEventIDRefusesNamesThatLeaveTheEventsDirectory(t *testing.T) {
	tracefs := At(t.TempDir())
	if err := os.WriteFile(filepath.Join(tracefs.Dir(), "id"), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"..", "", "a/b", "a\x00b"} {
		if _, err := tracefs.EventID("..", name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("EventID(.., %q) = %v; want not exist", name, err)
		}
	}
}

func liveTracefs(t testing.TB) *FS {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: tracefs is readable by root only")
	}
	tracefs, _, err := Mount()
	if err != nil {
		t.Fatal(err)
	}
	return tracefs
}

func TestLiveTracefsKnowsTheSchedulersEvents(t *testing.T) {
	tracefs := liveTracefs(t)
	id, err := tracefs.EventID("sched", "sched_switch")
	if err != nil || id == 0 {
		t.Errorf("sched:sched_switch = %d, %v; every kernel with tracing has it", id, err)
	}
	if _, err := tracefs.EventID("sched", "no_such_event"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an event that is not there: %v; want not exist", err)
	}
	again, mounted, err := Mount()
	if err != nil || mounted || again.Dir() != tracefs.Dir() {
		t.Errorf("second Mount = %v, %t, %v; want the first one's", again, mounted, err)
	}
}

func TestLiveTheTracesHeaderNamesTheColumns(t *testing.T) {
	header, err := liveTracefs(t).TraceHeader()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSuffix(header, "\n"), "\n") {
		if !strings.HasPrefix(line, "#") {
			t.Errorf("%q", line)
		}
	}
	if !strings.Contains(header, "TASK-PID") || !strings.HasSuffix(header, "\n") {
		t.Errorf("%q", header)
	}
}

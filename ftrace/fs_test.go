package ftrace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestEventIDReadsTheNumberOfTheEvent(t *testing.T) {
	tracefs := &FS{dir: t.TempDir()}
	dir := filepath.Join(tracefs.dir, "events", "sched", "sched_switch")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "id"), []byte("314\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if id, err := tracefs.EventID("sched", "sched_switch"); err != nil || id != 314 {
		t.Errorf("EventID = %d, %v; want 314", id, err)
	}
}

func TestEventIDRefusesNamesThatLeaveTheEventsDirectory(t *testing.T) {
	tracefs := &FS{dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(tracefs.dir, "id"), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"..", "", "a/b", "a\x00b"} {
		if _, err := tracefs.EventID("..", name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("EventID(.., %q) = %v; want not exist", name, err)
		}
	}
}

func TestLiveTracefsKnowsTheSchedulersEvents(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracefs is readable by root only")
	}
	tracefs, _, err := Mount()
	if err != nil {
		t.Fatal(err)
	}
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

func ExampleFS_EventID() {
	tracefs, err := Find()
	if err != nil {
		fmt.Println("an event by number")
		return
	}
	if _, err := tracefs.EventID("sched", "sched_switch"); err == nil || errors.Is(err, os.ErrPermission) {
		fmt.Println("an event by number")
	}
	// Output: an event by number
}

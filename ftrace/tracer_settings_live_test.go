package ftrace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/hermetic"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// settingsOwnerEnv has the test binary change settings and wait to be killed.
const settingsOwnerEnv = "RINGTAP_TEST_SETTINGS"

func TestMain(m *testing.M) {
	if value := os.Getenv(settingsOwnerEnv); value != "" {
		changeAndWait(value)
	}
	hermetic.Set()
	os.Exit(m.Run())
}

func changeAndWait(value string) {
	tracefs, err := Find()
	if err == nil {
		var s *Settings
		if s, err = tracefs.OpenSettings(); err == nil {
			err = s.Set("tracing_thresh", value)
		}
	}
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	os.Stdout.WriteString("changed\n")
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the test has ended, however it does
}

// withThreshold returns a tracefs whose tracing_thresh is nobody's.
func withThreshold(t *testing.T) *FS {
	t.Helper()
	tracefs := liveTracefs(t)
	if !tracefs.Has("tracing_thresh") {
		t.Skip("tracing_thresh: the kernel has no tracers")
	}
	if value, _ := tracefs.read("tracing_thresh"); value != "0" {
		t.Skipf("tracing_thresh is %s: someone uses it", value)
	}
	return tracefs
}

func wantThreshold(t *testing.T, tracefs *FS, want string) {
	t.Helper()
	if value, err := tracefs.read("tracing_thresh"); err != nil || value != want {
		t.Errorf("tracing_thresh is %q, error %v; want %q", value, err, want)
	}
}

func TestLiveSettingsAreAsBeforeWhenTheyAreClosed(t *testing.T) {
	tracefs := withThreshold(t)
	s, err := tracefs.OpenSettings()
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"70", "80"} {
		if err := s.Set("tracing_thresh", value); err != nil {
			t.Fatal(err)
		}
		wantThreshold(t, tracefs, value)
	}
	if _, err := tracefs.OpenSettings(); !isBusy(err) {
		t.Errorf("a second change of settings at once: %v; want a BusyError", err)
	}
	journal := s.journal.fs.Dir()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wantThreshold(t, tracefs, "0")
	if _, err := os.Stat(journal); err == nil {
		t.Errorf("%s is still there", journal)
	}
}

func isBusy(err error) bool {
	var busy *BusyError
	return errors.As(err, &busy)
}

func TestLiveWhatSomeoneElseHasChangedIsHis(t *testing.T) {
	tracefs := withThreshold(t)
	s, err := tracefs.OpenSettings()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Set("tracing_thresh", "70"); err != nil {
		t.Fatal(err)
	}
	if err := tracefs.put("tracing_thresh", "90", os.O_TRUNC); err != nil {
		t.Fatal(err)
	}
	defer tracefs.put("tracing_thresh", "0", os.O_TRUNC)
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), `another program has set it to "90"`) {
		t.Errorf("the error is %v", err)
	}
	wantThreshold(t, tracefs, "90")
}

func TestLiveSettingsOfAProcessThatWasKilledAreAsBefore(t *testing.T) {
	tracefs := withThreshold(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), settingsOwnerEnv+"=70")
	child.Stderr = os.Stderr
	if _, err := child.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if n, _ := out.Read(make([]byte, 100)); n == 0 {
		t.Fatal(child.Wait())
	}
	wantThreshold(t, tracefs, "70")
	tracefs.RemoveStale(0)          // it reports what others left too
	wantThreshold(t, tracefs, "70") // it lives
	child.Process.Kill()
	child.Wait()
	isOwn := func(name string) bool {
		return strings.HasPrefix(name, fmt.Sprintf("%s%d_", ownerPrefix, child.Process.Pid))
	}
	// The first ringtap that comes by puts the settings back, which may be another one. It
	// removes the journal after that.
	for end := time.Now().Add(testlimit.End); len(tracefs.instances(isOwn)) > 0; {
		if tracefs.RemoveStale(0); time.Now().After(end) {
			t.Fatalf("%q are left", tracefs.instances(isOwn))
		}
	}
	wantThreshold(t, tracefs, "0")
}

// What belongs to this process is put back by no other ringtap.
func TestLiveSettingsThatArePutBackAreReported(t *testing.T) {
	tracefs := withThreshold(t)
	s, err := tracefs.OpenSettings()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Set("tracing_thresh", "70"); err != nil {
		t.Fatal(err)
	}
	s.lock.Close() // as if it had been killed
	defer s.journal.owner.release()
	name := s.journal.Name()
	removed, err := tracefs.removeOf(func(owner string) bool { return owner == name })
	if want := []string{"tracing_thresh=0", "instances/" + name}; err != nil || !slices.Equal(removed, want) {
		t.Errorf("removed %q, %v; want %q", removed, err, want)
	}
	wantThreshold(t, tracefs, "0")
}

func TestLiveALongListIsNotedWhole(t *testing.T) {
	tracefs := withThreshold(t)
	j, err := tracefs.openJournal()
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	long := strings.Repeat("a_function_with_a_name\n\x01\"\\é", 4000)
	for _, n := range []note{{name: "set_ftrace_filter", before: long}, {name: "current_tracer", before: "nop"}} {
		if err := j.write("before", n.name, n.before); err != nil {
			t.Fatal(err)
		}
	}
	notes := j.fs.readJournal()
	if len(notes) != 2 || notes[0].before != long || notes[1].name != "current_tracer" {
		t.Errorf("%d notes came back", len(notes))
	}
}

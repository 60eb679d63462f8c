package launch_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/perfevent"
)

// ran starts a command, lets it run beside a counter, and returns how it ended.
func ran(t *testing.T, args ...string) (stderr string, err error) {
	t.Helper()
	watched, command, err := launch.Open(&target.Target{Command: args})
	if err != nil {
		t.Fatal(err)
	}
	defer launch.Leave(command)
	counters, err := perfevent.OpenCounters(watched, []perfevent.Event{perfevent.CPUClock()}, perfevent.Options{})
	if err != nil {
		t.Skipf("perf_event_open: %v", err)
	}
	defer counters.Close()
	if err := counters.Enable(); err != nil {
		t.Fatal(err)
	}
	<-counters.Ended()
	var out bytes.Buffer
	err = launch.End(context.Background(), &out, command)
	return out.String(), err
}

func TestTheStatusOfACommandIsPassedOn(t *testing.T) {
	for script, want := range map[string]launch.StatusError{"exit 0": 0, "exit 3": 3, "kill -USR1 $$": 128 + 10} {
		_, err := ran(t, "sh", "-c", script)
		var status launch.StatusError
		if want == 0 && err != nil || want != 0 && (!errors.As(err, &status) || status != want) {
			t.Errorf("%s: %v, want %v", script, err, want)
		}
	}
}

func TestACommandThatIsNotThereIsAnError(t *testing.T) {
	_, _, err := launch.Open(&target.Target{Command: []string{"no-such-command"}})
	if err == nil || !strings.HasPrefix(err.Error(), "run no-such-command: ") {
		t.Errorf("%v", err)
	}
}

func TestACommandThatNeverRanIsLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "made")
	command, err := launch.Start([]string{"touch", file})
	if err != nil {
		t.Fatal(err)
	}
	launch.Leave(command)
	if _, err := os.Stat(file); err == nil {
		t.Error("a command that was held and left has run")
	}
	launch.Leave(nil)
	if err := launch.End(context.Background(), nil, nil); err != nil {
		t.Errorf("no command: %v", err)
	}
}

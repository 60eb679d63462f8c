package oncpu_test

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// The calls of a greenlet are all that Python knows of while it runs. On the native stack they stand
// on top of those of the hub that has called it, and these on top of the program's own.
func TestLiveCallsOfGreenletsStandWhereTheGreenletBegins(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "import greenlet").Run() != nil {
		t.Skip("python3-greenlet is not installed")
	}
	collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 499, Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Interpreted: true}}
	testlimit.Enough(t, 700, func(rounds int) bool {
		p, _ := livetest.Run(t, exec.Command(python, "testdata/greenlets.py", fmt.Sprint(rounds)), perfevent.Started, collector, 0)
		by := make(map[string]uint64) // samples, by the outermost call of their greenlet
		for _, row := range p.Rows {
			if row.User == profile.None {
				continue
			}
			names, late := livetest.Calls(p, &row)
			if late || len(names) == 0 || slices.Contains(names, stack.Gone) || !slices.ContainsFunc(names, func(name string) bool { return name == "hub" || name == "worker" }) {
				continue
			}
			by[names[0]] += row.Values[0]
			checkGreenlet(t, p, &row, names)
		}
		t.Logf("samples by greenlet: %v", by)
		return by["hub"] >= 20 && by["worker"] >= 100
	})
}

// checkGreenlet checks that the calls of a hub or a worker are whole, and all stand inside the frames
// of greenlet that have begun it.
func checkGreenlet(t *testing.T, p *profile.Profile, row *profile.Row, names []string) {
	t.Helper()
	var frames []string
	begun, called, bare := 0, 0, 0 // frames of greenlet, of those calls; loops without any inside
	for _, f := range p.Stacks[row.User].Frames {
		frame := &p.Frames[f]
		frames = append(frames, frame.Name)
		switch {
		case p.Objects[frame.Object].Runtime != "":
			called++
		case strings.HasPrefix(path.Base(p.Objects[frame.Object].Path), "_greenlet."):
			if called == 0 {
				begun++
			}
			bare = 0
		case strings.HasPrefix(frame.Name, "_PyEval_EvalFrameDefault"):
			bare++
		}
	}
	whole := names[0] == "hub" || names[0] == "worker"
	hidden := slices.Contains(frames, "[uretprobe]") // by others, who probe the return of a function
	if called > 0 && whole && (begun == 0 && !hidden || bare > 1) {
		t.Errorf("the calls of %s don't stand in their greenlet's loops: %q", names[0], frames)
	}
	if !whole {
		t.Errorf("%q stand outside %s", frames, names[0])
	}
}

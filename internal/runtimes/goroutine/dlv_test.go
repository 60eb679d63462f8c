package goroutine

import (
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	dlvColour    = regexp.MustCompile("\x1b\\[[0-9;]*m")
	dlvGoroutine = regexp.MustCompile(`Goroutine (\d+) - User: .* \(0x[0-9a-f]+\)(?: \(thread (\d+)\))?(?: \[(.*)\])?$`)
	dlvFrame     = regexp.MustCompile(`^\t *\d+  0x[0-9a-f]+ in (.*)$`)
)

// TestPeerDelveSeesTheSameGoroutines compares with a debugger, the runtime's own
// goroutines and functions too. Some of those move on their own, such as the scavenger of
// memory: the process is stopped before the first look and until the second has ended.
func TestPeerDelveSeesTheSameGoroutines(t *testing.T) {
	dlv, err := exec.LookPath("dlv")
	if err != nil {
		t.Skip("dlv is not installed")
	}
	p := startProgram(t, buildProgram(t, "park", []string{"CGO_ENABLED=0"}))
	p.stop(t)
	got := goroutines(t, p.runtime(t))
	cmd := exec.Command(dlv, "attach", "--allow-non-terminal-interactive", strconv.Itoa(p.pid))
	cmd.Stdin = strings.NewReader("goroutines -t 40\nexit\nn\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("dlv: %v\n%s", err, out)
	}
	type seen struct {
		thread int
		state  string
		names  []string
	}
	want := make(map[uint64]*seen)
	var last *seen
	for line := range strings.Lines(dlvColour.ReplaceAllString(string(out), "")) {
		line = strings.TrimSuffix(line, "\n")
		if m := dlvGoroutine.FindStringSubmatch(line); m != nil {
			id, _ := strconv.ParseUint(m[1], 10, 64)
			thread, _ := strconv.Atoi(m[2])
			last = &seen{thread: thread, state: m[3]}
			want[id] = last
		} else if m := dlvFrame.FindStringSubmatch(line); m != nil {
			last.names = append(last.names, m[1])
		}
	}
	if len(want) < 40 || len(want) != len(got) {
		t.Errorf("%d goroutines, dlv sees %d", len(got), len(want))
	}
	for id, w := range want {
		g := got[id]
		if g == nil {
			t.Errorf("goroutine %d is missing", id)
			continue
		}
		var names []string
		for _, f := range g.Frames {
			names = append(names, p.functions(t, f)...)
		}
		switch {
		case g.Status == "running": // its registers are the thread's, which ringtap has from a sample
			if g.Thread != w.thread || len(names) > 0 {
				t.Errorf("goroutine %d on thread %d is in\n%v, dlv says thread %d", id, g.Thread, names, w.thread)
			}
		case g.Status == "syscall": // dlv has the thread's registers, which are further in
			if g.Thread != w.thread || len(w.names) < len(names) || !slices.Equal(names, w.names[len(w.names)-len(names):]) {
				t.Errorf("goroutine %d on thread %d is in\n%v, dlv says thread %d, in\n%v", id, g.Thread, names, w.thread, w.names)
			}
		case !strings.HasPrefix(w.state, g.WaitReason):
			t.Errorf("goroutine %d is %s, dlv says %s", id, g.WaitReason, w.state)
		case !slices.Equal(names[:min(len(names), len(w.names))], w.names) || len(names) > len(w.names) && len(w.names) < 40:
			t.Errorf("goroutine %d is in\n%v, dlv says\n%v", id, names, w.names)
		}
	}
}

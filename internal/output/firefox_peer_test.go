package output

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// firefoxProfiler returns the Firefox Profiler's command line.
func firefoxProfiler(t *testing.T) (command []string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	for _, file := range []string{"nodes/24/bin/node", "firefox-profiler/dist/profiler-cli.js"} {
		path := filepath.Join(cache, "ringtap", file)
		if _, err := os.Stat(path); err != nil {
			t.Skip("the Firefox Profiler's command line is not installed: scripts/install-node 24 and scripts/install-firefox-profiler unpack it")
		}
		command = append(command, path)
	}
	return command
}

// The Profiler's own code opens a profile, and has its threads, times and markers.
func TestPeerTheFirefoxProfilerOpensItsForm(t *testing.T) {
	command := firefoxProfiler(t)
	home, err := os.MkdirTemp("", "profiler") // t.TempDir's name is too long for a socket's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), command[0], slices.Concat(command[1:], args, []string{"--session", "test"})...)
		cmd.Env = append(os.Environ(), "HOME="+home)
		return cmd
	}
	profiler := func(args ...string) []byte {
		out, err := run(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return out
	}
	p := sample()
	path := filepath.Join(home, "p.firefox.json")
	if err := WriteFile(path, p, FileOptions{Timeline: times(p)}); err != nil {
		t.Fatal(err)
	}
	// What load starts and waits half a second for. It has the profile until it is told to stop.
	daemon := run("--daemon", path)
	var said bytes.Buffer
	daemon.Stdout, daemon.Stderr = &said, &said
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- daemon.Wait() }()
	t.Cleanup(func() {
		_ = daemon.Process.Kill() // it may have ended
		<-ended
	})
	// A command that comes earlier takes the session for one that has died, and removes its files.
	loaded := func() bool {
		text, err := os.ReadFile(filepath.Join(home, ".profiler-cli/test.log"))
		return err == nil && bytes.Contains(text, []byte("Profile loaded successfully"))
	}
	for !loaded() {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the Profiler ended: %v\n%s", err, &said)
		case <-time.After(10 * time.Millisecond):
		}
	}
	type thread struct {
		Name, ProcessName, PID, TID string
		CPUMs                       float64
		MarkerCount                 int
	}
	var list struct{ Threads []thread }
	if err := json.Unmarshal(profiler("thread", "list", "--json"), &list); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list.Threads, func(a, b thread) int { return strings.Compare(a.TID, b.TID) })
	want := []thread{ // the CPU time of a thread's first sample does not count
		{"swapper", "swapper", "0", "0", 0, 0},
		{"worker", "worker", "4242", "4242", 3.5, 4},
		{"worker", "worker", "4242.1", "4242.1", 0, 1},
		{"w/2", "worker", "4242", "4243", 1, 0},
	}
	if diff := cmp.Diff(want, list.Threads); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	markers := string(profiler("thread", "markers", "--thread", "t-0"))
	for _, words := range []string{"blocked", "min=500μs, avg=2.750ms, max=5ms", "preempted", "page-faults", "Off CPU"} {
		if !strings.Contains(markers, words) {
			t.Errorf("the markers do not say %q:\n%s", words, markers)
		}
	}
}

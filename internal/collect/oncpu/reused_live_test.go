package oncpu_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// The program has six functions at one address, one after another, each of which runs longer than
// the one before. It starts with them once ringtap watches its file.
func TestLiveCodeThatTakesThePlaceOfOtherCodeHasItsOwnName(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const hz, step = 499, 0.060 // seconds of CPU time
	for _, form := range []string{"map", "dump"} {
		t.Run(form, func(t *testing.T) {
			collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: hz, Stacks: stack.Stacks{User: true, Unwind: stack.Auto}}
			program := livetest.Program(t, "reused")
			cmd := exec.Command(program, form, t.TempDir())
			endInputWhenWatched(t, cmd)
			p, _ := livetest.Run(t, cmd, perfevent.Started, collector, 0)
			got := make(map[string]uint64)
			for _, row := range p.Rows {
				if row.User < 0 {
					continue
				}
				frames := p.Stacks[row.User].Frames
				f := p.Frames[frames[len(frames)-1]]
				if o := p.Objects[f.Object]; o.Path == "[anon]" && f.Name == "" {
					t.Errorf("%d samples at %#x have no name", row.Values[0], f.Address)
				}
				got[f.Name] += row.Values[0]
			}
			for i := range 7 {
				name, want := "gen"+strconv.Itoa(i), hz*step*float64(i+1)
				if i == 6 {
					name, want = "stable", hz*step*6
				}
				// Four standard deviations, as if the samples came at random times: the timer's
				// are regular, but a name may begin to count some milliseconds late.
				if most := 4 * math.Sqrt(want); math.Abs(float64(got[name])-want) > most {
					t.Errorf("%s has %d samples, want %.0f and %.0f more or less at most", name, got[name], want, most)
				}
			}
			anonymous := 0
			for _, o := range p.Objects {
				if o.Path == "[anon]" {
					anonymous++
				}
			}
			if anonymous != 1 {
				t.Errorf("the profile has %d objects of generated code, want 1", anonymous)
			}
			t.Log(fmt.Sprint(got))
		})
	}
}

// endInputWhenWatched ends the standard input of a command once this process watches the file whose path the
// command prints, by inotify(7).
func endInputWhenWatched(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	input, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	printed, output, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout = input, output
	done := make(chan struct{})
	t.Cleanup(func() {
		output.Close()
		<-done
		printed.Close()
		input.Close()
	})
	go func() {
		defer close(done)
		defer end.Close()
		var path string
		var file unix.Stat_t
		if _, err := fmt.Fscan(printed, &path); err != nil {
			t.Error(err)
			return
		}
		if err := unix.Stat(path, &file); err != nil {
			t.Error(err)
			return
		}
		for limit := time.Now().Add(testlimit.End); !isWatched(file.Ino); time.Sleep(time.Millisecond) {
			if time.Now().After(limit) {
				t.Errorf("%s is not watched", path)
				return
			}
		}
	}()
}

// isWatched reports whether this process watches a file with that inode number (proc_pid_fdinfo(5)).
func isWatched(inode uint64) bool {
	descriptors, _ := filepath.Glob("/proc/self/fdinfo/*")
	for _, path := range descriptors {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), fmt.Sprintf(" ino:%x ", inode)) {
			return true
		}
	}
	return false
}

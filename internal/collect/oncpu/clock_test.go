package oncpu

import (
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/perfevent"
)

func TestACommandsCPUTimeIncludesItsChildren(t *testing.T) {
	for _, test := range []struct {
		name     string
		userOnly bool
		sampled  []int // processes with samples
		ended    bool  // nothing can be read at the end
		want     time.Duration
	}{
		{"the command alone", false, []int{7}, false, 1300 * time.Millisecond},
		{"with a child that has ended", false, []int{7, 8}, false, 1300 * time.Millisecond},
		{"a child runs on", false, []int{7, 9}, false, 0},
		{"only its user mode was sampled", true, []int{7}, false, 0},
		{"it has gone", false, []int{7}, true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			proc := t.TempDir()
			c := &Collector{Event: perfevent.CPUClock(), Frequency: 100, UserOnly: test.userOnly, Watched: []int{7}, Started: true}
			c.clock.host = process.Host{Proc: proc}
			writeStat(t, proc, 7, [4]int{10, 10, 0, 0})
			writeStat(t, proc, 9, [4]int{5, 5, 0, 0})
			c.StartClock()
			if writeStat(t, proc, 7, [4]int{40, 20, 60, 30}); test.ended {
				c.clock.host = process.Host{Proc: t.TempDir()}
			}
			c.StopClock()
			writeStat(t, proc, 7, [4]int{400, 200, 600, 300})
			c.StopClock() // what runs on after the end does not count
			p := &profile.Profile{}
			for _, pid := range test.sampled {
				p.Processes = append(p.Processes, profile.Process{PID: pid})
			}
			if got := c.CPUTime(p); got != test.want {
				t.Errorf("ran for %v, want %v", got, test.want)
			}
		})
	}
}

func TestSamplesThatDifferFromTheKernelsCountAreNoted(t *testing.T) {
	c := &Collector{Frequency: 100, Watched: []int{7}}
	const second = time.Second
	for _, test := range []struct {
		name         string
		sampled, ran time.Duration
		noted        bool
	}{
		{"too few", 70 * second, 100 * second, true},
		{"too many", 120 * second, 100 * second, true},
		{"as many as there may be", 97 * second, 100 * second, false},
		{"few samples, which chance explains", 70 * time.Millisecond, 100 * time.Millisecond, false},
		{"an unknown time", 70 * second, 0, false},
	} {
		if note := c.DiffersNote(test.sampled, test.ran); (note != "") != test.noted {
			t.Errorf("%s: the note is %q", test.name, note)
		}
	}
}

package perfevent

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// shortLives is a command that runs so many programs one after another, each for less
// than a millisecond, and then as many from a process whose parent has ended, which prints
// its times.
func shortLives(programs int) *exec.Cmd {
	loop := fmt.Sprintf("i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done", programs/2)
	return exec.Command("/bin/sh", "-c", loop+"; ( ( "+loop+"; times ) & ) | cat")
}

// minutes is a time as the shell's times prints it: "0m0.120000s".
var minutes = regexp.MustCompile(`(\d+)m([\d.]+)s`)

// timesIn adds up what times has printed.
func timesIn(t *testing.T, text string) (sum time.Duration) {
	t.Helper()
	all := minutes.FindAllStringSubmatch(text, -1)
	if len(all) != 4 {
		t.Fatalf("times has printed %q", text)
	}
	for _, m := range all {
		d, err := time.ParseDuration(m[1] + "m" + m[2] + "s")
		if err != nil {
			t.Fatal(err)
		}
		sum += d
	}
	return sum
}

// stolen returns how long the host has had this virtual machine's CPUs while they had work
// (proc_stat(5)).
func stolen(t *testing.T) time.Duration {
	t.Helper()
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	const field, userHZ = 8, 100
	ticks, err := strconv.Atoi(strings.Fields(string(stat))[field])
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(ticks) * time.Second / userHZ
}

// isGuest reports whether this is a virtual machine.
func isGuest(t *testing.T) bool {
	t.Helper()
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^flags\s*:.* hypervisor( |$)`).Match(info)
}

// What is sampled by CPU is what the kernel has charged the processes with, within four
// standard deviations of the number of samples, beside what is inherited too. There may be
// more samples, of the time that the host has stolen: the kernel does not charge a process
// with it (update_rq_clock_task in kernel/sched/core.c), but timers expire in it. A host that
// has not told of any since the boot may not tell: it may have been any part of the run. There may be
// fewer on an emulated machine, whose timers miss periods while the host has its CPU.
func TestLiveSamplesByCPUSeeShortLives(t *testing.T) {
	needRoot(t)
	const hertz = 999
	byCPU := Sampling{Event: CPUClock(), Frequency: hertz, ExcludeIdle: true, ByCPU: true}
	switches := Sampling{Event: Software(SoftwareContextSwitches), Period: 1}
	for name, samplings := range map[string][]Sampling{"alone": {byCPU}, "and inherited": {switches, byCPU}} {
		t.Run(name, func(t *testing.T) {
			cmd := shortLives(testlimit.Calls(1500))
			var out strings.Builder
			cmd.Stdout = &out
			command, err := StartCommand(cmd)
			if err != nil {
				t.Fatal(err)
			}
			s := open(t, Started(command), samplings, Options{})
			before, begin := stolen(t), time.Now()
			enable(t, s)
			sampled, others := 0, 0
			if err := s.Read(context.Background(), func(rec Record) error {
				if sample, ok := rec.(*Sample); ok && samplings[sample.Sampling].ByCPU {
					sampled++
				} else if ok && sample.PID == 0 {
					others++
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			state, err := command.Wait()
			if err != nil {
				t.Fatal(err)
			}
			used := state.UserTime() + state.SystemTime() + timesIn(t, out.String())
			taken := stolen(t) - before
			if before == 0 && isGuest(t) {
				taken = time.Since(begin) // the host does not say how much it has stolen
			}
			least, most := used.Seconds()*hertz, (used+taken).Seconds()*hertz
			least, most = least-4*math.Sqrt(least), most+4*math.Sqrt(most)
			if testlimit.Emulated() {
				least = 1
			}
			if n := float64(sampled); n < least || n > most || others > 0 {
				t.Errorf("%d samples of %v, and %v stolen; want %.0f to %.0f; %d of the idle task", sampled, used, taken, least, most, others)
			}
		})
	}
}

package oncpu_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// Programs that make the calls of their chains known by their names: see livetest/testdata/deep.c.
func TestLiveStacksThatAreDeeperThanTheCopyAreWholeAndTrue(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const without, with = "-fomit-frame-pointer", "-fno-omit-frame-pointer"
	of := perfevent.Started
	var host func(*perfevent.Command) perfevent.Target // nil is all of it
	for _, test := range []struct {
		way   string
		hz    uint64
		flag  string
		on    func(*perfevent.Command) perfevent.Target
		share uint64 // of a hundred stacks, so many are whole at least
	}{
		{"main", 99, without, of, 90},
		{"main", 999, without, of, 90},
		{"main", 999, with, of, 90},
		{"hurry", 99, with, of, 90},
		{"hurry", 999, without, of, 90},
		{"threads", 999, without, of, 90},
		{"signal", 999, without, of, 90},
		{"coroutine", 99, without, of, 90},
		{"main", 999, without, host, 50}, // what else runs on it says how many more are read
		{"die", 999, without, host, 0},   // much of a child's life is over before its stacks are known to be deep
	} {
		name := fmt.Sprint(test.way, " ", test.hz, test.flag)
		if test.on == nil {
			name += " on the whole host"
		}
		t.Run(name, func(t *testing.T) {
			program := livetest.Deep(t, test.flag)
			ms := 400
			if test.hz < 999 {
				ms = 1000
			}
			testlimit.Enough(t, ms, func(ms int) bool {
				return runDeep(t, exec.Command(program, test.way, strconv.Itoa(ms)), test.hz, test.on, test.share)
			})
		})
	}
}

// What lies between the copy and the outermost functions need not be read to find these.
func TestLiveStacksWithALargeVariableAreWhole(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	program := livetest.Program(t, "variable", "-pthread", "-fno-stack-clash-protection")
	for _, test := range []struct {
		hz  uint64
		way string
	}{{99, "used"}, {999, "used"}, {99, "unused"}} {
		t.Run(fmt.Sprint(test.hz, " ", test.way), func(t *testing.T) {
			collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: test.hz,
				Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Interpreted: true, Beyond: true}}
			testlimit.Enough(t, 1000, func(ms int) bool {
				p, account := livetest.Run(t, exec.Command(program, strconv.Itoa(ms), test.way), perfevent.Started, collector, 0)
				var whole, cut uint64
				for _, row := range p.Rows {
					if row.User == profile.None {
						continue
					}
					names := livetest.Chain(p, row.User)
					at := slices.Index(names, "outermost")
					switch {
					case at < 0:
					case p.Stacks[row.User].Truncated:
						cut += row.Values[0]
					case !slices.ContainsFunc(names[:at], beginsThread):
						t.Errorf("%d samples have the chain %q", row.Values[0], names)
					default:
						whole += row.Values[0]
					}
				}
				t.Logf("%d stacks are whole, %d cut short, %d joined", whole, cut, account.Joined)
				if testlimit.Emulated() { // where few visits end in time
					return whole >= 20
				}
				read := whole - min(whole, account.Joined) // not before the first reading
				return read >= 20 && read*10 >= (whole+cut)*6
			})
		})
	}
}

// beginsThread reports whether a frame may be of the function that begins threads, which has no name
// where the C library has no symbols.
func beginsThread(name string) bool {
	return name == "start_thread" || strings.HasPrefix(name, "libc.so.6+")
}

// runDeep reports whether so many of a hundred stacks are whole, since they are read. It fails the test if a
// whole stack is not one that the program makes.
func runDeep(t *testing.T, cmd *exec.Cmd, hz uint64, on func(*perfevent.Command) perfevent.Target, share uint64) (enough bool) {
	t.Helper()
	collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: hz,
		Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Interpreted: true, Beyond: true}}
	p, account := livetest.Run(t, cmd, on, collector, 0)
	whole, cut := livetest.DeepStacks(t, p, 0)
	others := account.Truncated - cut
	early := account.Early - min(account.Early, others) // at least
	t.Logf("%d stacks are whole and %d cut short, %d of them early; of all %d samples %d are cut short, and %d joined", whole, cut, early, account.Received, account.Truncated, account.Joined)
	// An emulated machine reads less in the time of a visit than these stacks are.
	return testlimit.Emulated() || whole >= 20 && whole*100 >= (whole+cut-min(cut, early))*share
}

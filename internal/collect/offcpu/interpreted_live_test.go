package offcpu_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/offcpu"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// collector makes a collector of a command, or of the whole system.
func collector(t *testing.T, whole bool) *offcpu.Collector {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Skip(err)
	}
	opts := offcpu.Options{Whole: whole, Stacks: stack.Stacks{User: true, Kernel: true, Unwind: stack.Auto, Interpreted: true, Beyond: true}}
	if opts.Switch, err = tracefs.Format("sched", "sched_switch"); err != nil {
		t.Fatal(err)
	}
	if whole {
		if opts.Blind, err = collect.BlindCPUs(opts.Switch); err != nil {
			t.Fatal(err)
		}
	}
	c, err := offcpu.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// waited are the system calls that the programs' two ways of waiting are, by the kernel's functions:
// what the stack of a wait says of itself.
var waited = map[string]struct{ nap, hold *regexp.Regexp }{
	"python": {regexp.MustCompile(`sys_(clock_nanosleep|p?select)`), regexp.MustCompile(`sys_futex`)}, // the latter before Python 3.11
	"php":    {regexp.MustCompile(`sys_clock_nanosleep`), regexp.MustCompile(`sys_(p?select|ppoll|poll)`)},
	"perl":   {regexp.MustCompile(`sys_nanosleep`), regexp.MustCompile(`sys_p?select`)},
	"ruby":   {regexp.MustCompile(`sys_(ppoll|futex)`), regexp.MustCompile(`sys_p?select`)},
}

// waits is what a profile has of one way.
type waits struct{ named, bare, time uint64 }

// checkWaits compares the waits in nap and hold with their system calls.
func checkWaits(t *testing.T, p *profile.Profile, program *livetest.Interpreter) map[string]waits {
	t.Helper()
	by := make(map[string]waits)
	for _, row := range p.Rows {
		if row.User == profile.None || row.Kernel == profile.None || row.Values[1] == 0 {
			continue
		}
		names, _ := livetest.Calls(p, &row)
		livetest.CheckPlaces(t, p, &row)
		call := ""
		for _, f := range p.Stacks[row.Kernel].Frames {
			call += " " + p.Frames[f].Name
		}
		for name, calls := range map[string]*regexp.Regexp{"nap": waited[program.Language].nap, "hold": waited[program.Language].hold} {
			isIn := slices.Contains(names, name)
			if !calls.MatchString(call) {
				if isIn && strings.Contains(call, "_sys_") && (waited[program.Language].nap.MatchString(call) || waited[program.Language].hold.MatchString(call)) {
					t.Errorf("%d waits in %s are said to be in%s", row.Values[1], names, call)
				}
				continue
			}
			w := by[name]
			switch {
			case len(names) == 0:
				w.bare += row.Values[1]
			case isIn:
				// The chain is whole: eleven calls of the one function and none of the other.
				chain := append([]string{program.Main}, slices.Repeat([]string{name}, 11)...)
				if len(names) < len(chain) || len(names) > len(chain)+1 || !livetest.AreCalls(names[:len(chain)], chain) {
					t.Errorf("%d waits have the chain %v, which there is not", row.Values[1], names)
				}
				w.named += row.Values[1]
				w.time += row.Values[0]
			}
			by[name] = w
		}
	}
	return by
}

func TestLiveWaitsOfInterpretersAreInTheFunctionsThatWait(t *testing.T) {
	const wait = 20 * time.Millisecond
	seen := func(t *testing.T, program *livetest.Interpreter, rounds int) bool {
		cmd := program.Program("testdata/waits", fmt.Sprint(rounds), fmt.Sprint(wait.Microseconds()))
		p, _ := livetest.Run(t, cmd, perfevent.Started, collector(t, false), 0)
		by := checkWaits(t, p, program)
		t.Logf("%+v; %q", by, p.Details)
		most := uint64(rounds)
		for _, name := range []string{"nap", "hold"} {
			if w := by[name]; w.named > most || w.time < w.named*uint64(wait) {
				t.Errorf("%s waited %d times (%v), want %d times %v", name, w.named, time.Duration(w.time), rounds, wait)
			}
		}
		if !slices.ContainsFunc(p.Details, func(note string) bool { return strings.HasPrefix(note, "interpreted frames: ") }) {
			t.Errorf("no note on interpreted frames in %q", p.Details)
		}
		return by["nap"].named >= most/2 && by["hold"].named >= most/2
	}
	for _, program := range livetest.OfEachLanguage(t) {
		t.Run(program.Name, func(t *testing.T) {
			testlimit.Enough(t, 40, func(rounds int) bool { return seen(t, &program, rounds) })
		})
	}
}

// A reading of a thread that has gone on by then would be of the other function, or of half of it.
func TestLiveWaitsThatFollowEachOtherAreNotTakenForEachOther(t *testing.T) {
	for _, whole := range []bool{false, true} {
		for _, program := range livetest.OfEachLanguage(t) {
			t.Run(fmt.Sprint(program.Name, " whole host ", whole), func(t *testing.T) {
				on := perfevent.Started
				if whole {
					on = nil
				}
				testlimit.Enough(t, 1500, func(rounds int) bool {
					p, _ := livetest.Run(t, program.Program("testdata/waits", fmt.Sprint(rounds), "80"), on, collector(t, whole), 0)
					by := checkWaits(t, p, &program)
					t.Logf("%+v", by)
					return by["nap"].named+by["hold"].named > 0
				})
			})
		}
	}
}

func TestLiveWaitsOfInterpretersThatBeginLaterAreSeenOnAWholeHost(t *testing.T) {
	for _, program := range livetest.OfEachLanguage(t) {
		if program.Language != "python" {
			continue
		}
		t.Run(program.Name, func(t *testing.T) {
			testlimit.Enough(t, 60, func(rounds int) bool {
				p, _ := livetest.Run(t, program.Program("testdata/children", fmt.Sprint(rounds)), nil, collector(t, true), 0)
				by := livetest.ByFunction(p, "in_")
				t.Logf("%v", by)
				least := uint64(math.MaxUint64)
				for _, name := range []string{"in_parent", "in_thread", "in_child", "in_new_program"} {
					least = min(least, by[name][1])
				}
				// The other two share the interpreter's lock, for which they wait as well.
				for _, name := range []string{"in_child", "in_new_program"} {
					if n := by[name][1]; n > uint64(2*rounds) {
						t.Errorf("%s waited %d times, want at most %d", name, n, 2*rounds)
					}
				}
				return least > 0
			})
		})
	}
}

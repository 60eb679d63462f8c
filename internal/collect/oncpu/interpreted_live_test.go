package oncpu_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/runtimes/languages"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

func TestMain(m *testing.M) {
	helper.Serve(map[string]helper.NewVisitor{atsample.Visitor: atsample.NewVisitors(languages.Detectors())})
	os.Exit(m.Run())
}

func TestLiveChainsOfInterpretersAreThoseThatTheProgramMakes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	rounds := map[string]int{"python": 6000, "php": 15000, "perl": 2000, "ruby": 5000}
	programs := livetest.OfEachLayout(t)
	if !slices.ContainsFunc(programs, livetest.Interpreter.IsUnpacked) {
		programs = append(programs, livetest.NewestRuby(t)...) // whose loop has no symbol
	}
	for _, program := range append(programs, livetest.CompilingRubies(programs)...) {
		rates := []uint64{999}
		if program.Name == "python usr" || testlimit.IsThorough() && !program.IsUnpacked() {
			rates = append(rates, 99)
		}
		for _, hz := range rates {
			t.Run(fmt.Sprint(program.Name, " ", hz), func(t *testing.T) {
				collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: hz, Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Interpreted: true}}
				testlimit.Enough(t, rounds[program.Language], func(rounds int) bool {
					command := program.Program("testdata/shares", fmt.Sprint(rounds))
					p, account := livetest.Run(t, command, perfevent.Started, collector, 0)
					total, enough := checkInterpreted(t, p, program.Main)
					if total+account.LeftOut != account.Received {
						t.Errorf("%d samples in the profile or left out, of %d", total+account.LeftOut, account.Received)
					}
					return enough
				})
			})
		}
	}
}

// interpretedNote is how the note on interpreted frames begins.
var interpretedNote = regexp.MustCompile(`^interpreted frames: ([0-9.]+)% exact, .* \((\d+) samples\)`)

// checkInterpreted compares a profile with what the program does, and reports whether most of it is
// known. On a busy host the first samples of a program show no functions, while its interpreter is
// found.
func checkInterpreted(t *testing.T, p *profile.Profile, outermost string) (total uint64, enough bool) {
	t.Helper()
	shares := map[string]float64{"one": 1. / 6, "two": 2. / 6, "three": 3. / 6}
	got, leaves := make(map[string]float64), make(map[string]uint64)
	var all, late, none, below, gone, broken uint64
	for _, row := range p.Rows {
		total += row.Values[0]
		if row.User == profile.None {
			continue
		}
		value := row.Values[0]
		all += value
		names, isLate := livetest.Calls(p, &row)
		livetest.CheckPlaces(t, p, &row)
		switch {
		case isLate:
			late += value
			continue
		case len(names) == 0:
			none += value
			continue
		}
		if slices.Contains(names, stack.Gone) {
			if slices.Contains(names, "down") {
				gone += value
			}
			continue // while it loads, what has run is thrown away soon
		}
		leaves[names[len(names)-1]] += value
		first := slices.Index(names, "down")
		if first < 0 && !slices.ContainsFunc(names, func(name string) bool { return name == "burn" || shares[name] != 0 }) {
			continue // it loads, or is between two rounds
		}
		deep := 0
		for first >= 0 && first+deep < len(names) && names[first+deep] == "down" {
			deep++
		}
		rest := strings.Join(names[max(first, 0)+deep:], ";")
		callee, leaf, _ := strings.Cut(rest, ";")
		switch {
		case names[0] != outermost, deep < 1 || deep > 11, callee != "" && shares[callee] == 0, callee != "" && deep != 11, leaf != "" && leaf != "burn":
			t.Errorf("%d samples have the chain %v, which there is not", value, names)
		case callee != "":
			got[callee] += float64(value)
			below += value
			if isBroken(p, &row) {
				broken += value
			}
		}
	}
	note := slices.IndexFunc(p.Details, interpretedNote.MatchString)
	if note < 0 {
		t.Fatalf("no note on interpreted frames in %q", p.Details)
	}
	t.Logf("%s; %d samples, %d in chains that are known, %d of them broken, %d late, %d without, %d gone; leaves %v", p.Details[note], all, below, broken, late, none, gone, leaves)
	for name, share := range shares {
		n := float64(below)
		if off := math.Abs(got[name] - share*n); off > 5*math.Sqrt(n*share*(1-share)) {
			t.Errorf("%s has %.1f%% of the samples, want %.1f%%", name, 100*got[name]/n, 100*share)
		}
	}
	if broken > 1+below/100 {
		t.Errorf("%d of %d stacks lead through code that nobody knows, or do not reach the program's start", broken, below)
	}
	if gone > 2+all/100 {
		t.Errorf("%d of %d samples have functions that were gone before they were asked for", gone, all)
	}
	return total, below >= (all-none)*8/10 && below >= 20
}

// isBroken reports whether the user stack of a row is cut short, or shows code that a program has made as it ran.
func isBroken(p *profile.Profile, row *profile.Row) bool {
	s := &p.Stacks[row.User]
	return s.Truncated || slices.ContainsFunc(s.Frames, func(f int) bool { return p.Objects[p.Frames[f].Object].Path == "[anon]" })
}

// On a whole host, processes that begin after the sampling does, and their children and
// threads, are seen as well.
func TestLiveInterpretersThatBeginLaterAreSeenOnAWholeHost(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, python := range livetest.OfEachLanguage(t) {
		if python.Language != "python" {
			continue
		}
		t.Run(python.Name, func(t *testing.T) {
			collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 199, Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Interpreted: true}}
			testlimit.Enough(t, 2500, func(rounds int) bool {
				p, _ := livetest.Run(t, python.Program("testdata/children", fmt.Sprint(rounds)), nil, collector, 0)
				by := make(map[string]uint64) // samples, by the function that only one of them has
				var bare, all uint64
				for _, row := range p.Rows {
					if row.User == profile.None || !strings.HasPrefix(p.Processes[row.Process].Comm, "python") {
						continue
					}
					found, named := "", false
					for _, f := range p.Stacks[row.User].Frames {
						named = named || p.Objects[p.Frames[f].Object].Runtime != ""
						if name := p.Frames[f].Name; strings.HasPrefix(name, "in_") {
							if found != "" {
								t.Errorf("%s is called by %s", name, found)
							}
							found = name
						}
					}
					if all += row.Values[0]; !named {
						bare += row.Values[0]
					}
					by[found] += row.Values[0]
				}
				t.Logf("%d samples, %d show no function of Python, by %v; %q", all, bare, by, p.Details)
				for _, name := range []string{"in_parent", "in_thread", "in_child", "in_new_program"} {
					if by[name] == 0 {
						return false
					}
				}
				return true
			})
		})
	}
}

// Time in a loop is that of the function that it runs, also where functions without symbols run
// instructions for it.
func TestLiveTimeInALoopIsThatOfTheFunction(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	least := map[string]uint64{"php": 50, "ruby": 30} // in percent
	for _, program := range livetest.OfEachLayout(t) {
		if least[program.Language] == 0 {
			continue
		}
		t.Run(program.Name, func(t *testing.T) {
			collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 499, Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Interpreted: true}}
			testlimit.Enough(t, 10000, func(rounds int) bool {
				p, _ := livetest.Run(t, program.Program("testdata/shares", fmt.Sprint(rounds)), perfevent.Started, collector, 0)
				var all, own uint64
				for _, row := range p.Rows {
					if row.User == profile.None || row.Kernel != profile.None {
						continue
					}
					if names, late := livetest.Calls(p, &row); late || len(names) == 0 || names[len(names)-1] != "burn" {
						continue
					}
					frames := p.Stacks[row.User].Frames
					all += row.Values[0]
					if p.Objects[p.Frames[frames[len(frames)-1]].Object].Runtime != "" {
						own += row.Values[0]
					}
				}
				t.Logf("%d of %d samples in burn are its own", own, all)
				if least := least[program.Language]; all >= 50 && own*100 < all*least {
					t.Errorf("%d of %d samples in burn are its own, want %d%%", own, all, least)
				}
				return all >= 50
			})
		})
	}
}

package calls_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/calls"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/probe"
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

// caller runs testdata/ppid: its functions one, two and three call getppid(3) so many times as they
// say, below eleven calls of down. PHP, which has that in an extension alone, calls getrusage(2).
type caller struct{ livetest.Interpreter }

func (c caller) calls() string {
	if strings.HasPrefix(c.Name, "php") {
		return "getrusage"
	}
	return "getppid"
}

// restMS is how many milliseconds pass between calls of which all are looked at.
const restMS = 3

func callers(t *testing.T) (all []caller) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, i := range livetest.OfEachLanguage(t) {
		all = append(all, caller{i})
	}
	return all
}

// interpretedNote is the note on interpreted functions.
var interpretedNote = regexp.MustCompile(`^interpreted frames: ([0-9.]+)% exact, .* \(\d+ samples\)`)

func TestLiveAProbeShowsTheInterpretedFunctionsThatCall(t *testing.T) {
	for _, c := range callers(t) {
		t.Run(c.Name, func(t *testing.T) {
			testlimit.Enough(t, 100, func(rounds int) bool {
				return c.check(t, rounds, restMS) >= uint64(6*rounds*9/10)
			})
		})
	}
}

// As many calls as there can be: each is counted, and the functions of some are known.
func TestLiveAStormOfCallsIsCountedAndSomeOfItHasFunctions(t *testing.T) {
	for _, c := range callers(t) {
		t.Run(c.Name, func(t *testing.T) {
			testlimit.Enough(t, testlimit.Calls(6000), func(rounds int) bool { return c.check(t, rounds, 0) >= 200 })
		})
	}
}

// check runs the program and compares the profile of its calls with what it does. It returns of how
// many calls the functions are known for sure.
func (c caller) check(t *testing.T, rounds, rest int) (exact uint64) {
	t.Helper()
	var p *profile.Profile
	testlimit.Lossless(t, func() (lost uint64) {
		p, lost = c.profile(t, rounds, rest)
		return lost
	})
	truth := map[string]uint64{"one": uint64(rounds), "two": uint64(2 * rounds), "three": uint64(3 * rounds)}
	got := make(map[string]uint64)
	var all, none, late uint64
	for _, row := range p.Rows {
		n := row.Values[1]
		all += n
		names, isLate := livetest.Calls(p, &row)
		livetest.CheckPlaces(t, p, &row)
		switch {
		case len(names) == 0:
			none += n
			continue
		case isLate:
			late += n
			continue
		}
		exact += n
		want := append([]string{c.Main}, slices.Repeat([]string{"down"}, 11)...)
		if len(names) <= len(want) || !livetest.AreCalls(names[:len(want)], want) || truth[names[len(want)]] == 0 {
			t.Errorf("%d calls have the chain %v, which there is not", n, names)
			continue
		}
		got[names[len(want)]] += n
	}
	note := slices.IndexFunc(p.Details, interpretedNote.MatchString)
	if note < 0 {
		t.Fatalf("no note on interpreted functions in %q", p.Details)
	}
	t.Logf("%s; %d calls: %v, %d late, %d without", p.Details[note], all, got, late, none)
	if all != uint64(6*rounds) {
		t.Errorf("%d calls were counted, want %d", all, 6*rounds)
	}
	for name, want := range truth {
		share, n := float64(want)/float64(6*rounds), float64(exact)
		switch off := math.Abs(float64(got[name]) - share*n); {
		case got[name] > want, exact == all && got[name] != want:
			t.Errorf("%s calls %d times, want %d", name, got[name], want)
		case off > 5*math.Sqrt(n*share*(1-share)):
			t.Errorf("%s has %d of %d calls, want %.1f%%", name, got[name], exact, 100*share)
		}
	}
	return exact
}

// profile runs the program and profiles its calls. It returns how many records were lost as well.
func (c caller) profile(t *testing.T, rounds, rest int) (p *profile.Profile, lost uint64) {
	t.Helper()
	cmd := c.Program("testdata/ppid", strconv.Itoa(rounds), strconv.Itoa(rest))
	program := livetest.Start(t, cmd)
	defer program.Close()
	return profileOf(t, program, c.calls())
}

// libcOf is the libc that a process has mapped, which may be its interpreter's own.
func libcOf(t *testing.T, pid int) string {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	path := regexp.MustCompile(`/\S+/libc(\.so\.6|-2\.\d+\.so)`).FindString(string(maps))
	if path == "" {
		t.Fatalf("process %d has no libc", pid)
	}
	return path
}

// profileOf profiles the calls of a function of libc in a process, which begins to call when it is told to, and
// says when it has.
func profileOf(t *testing.T, program *livetest.Ready, function string) (p *profile.Profile, lost uint64) {
	t.Helper()
	spec := &probe.Spec{Place: probe.User, Kind: 'p', Probe: libcOf(t, program.PID) + ":" + function, Whole: true}
	target := perfevent.Process(program.PID)
	set, err := probe.Open(spec, probe.Options{Target: target, Calls: probe.AllCalls, UserStacks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}()
	collector := calls.NewCalls(function, set.Sources, stack.Stacks{User: true, Unwind: stack.Auto, Entry: set.AtEntry, Interpreted: true})
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	done := make(chan error, 1)
	begin := func() error {
		go func() {
			_, err := program.Said.ReadString('\n')
			done <- err
			cancel()
		}()
		return program.Begin()
	}
	result, err := profiler.Run(ctx, profiler.Options{Target: target, Collectors: []table.Collector{collector}, Whole: true, Memory: 64 << 20, DebugFiles: livetest.NoDebugFiles,
		Logger: slog.New(slog.DiscardHandler), Armed: begin, Report: func(*profile.Profile) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the program has not ended well: %v", err)
	}
	a := result.Accounts[0]
	if a.Lost == 0 && a.Received != a.Counted {
		t.Errorf("not all records came: %+v", a)
	}
	return result.Whole, a.Lost
}

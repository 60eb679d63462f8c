package calls_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/interp/languages"
	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profiler"
	"github.com/ringtap/ringtap/internal/questions/calls"
	"github.com/ringtap/ringtap/internal/questions/livetest"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/internal/testlimit"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

func TestMain(m *testing.M) {
	near.Serve(map[string]near.New{moment.Visitor: moment.NewVisitors(languages.Detectors())})
	os.Exit(m.Run())
}

// caller runs testdata/ppid: its functions one, two and three call getppid(3) so many times as they
// say, below eleven calls of down.
type caller struct{ livetest.Interpreter }

// burns are arguments that let some milliseconds pass.
func burns() map[string]int {
	return map[string]int{"python": 60000, "php": 180000, "perl": 120000, "ruby": 90000}
}

func callers(t *testing.T) (all []caller) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, i := range livetest.Interpreters(t) {
		all = append(all, caller{i})
	}
	return all
}

// interpretedNote is the note on interpreted functions.
var interpretedNote = regexp.MustCompile(`^interpreted frames: ([0-9.]+)% exact, .* \(\d+ samples\)`)

func TestLiveAProbeShowsTheInterpretedFunctionsThatCall(t *testing.T) {
	for _, c := range callers(t) {
		t.Run(c.Name, func(t *testing.T) {
			const rounds = 100
			read := c.check(t, rounds, burns()[c.Language])
			if read < 6*rounds*9/10 {
				t.Errorf("the functions of %d of %d calls were read", read, 6*rounds)
			}
		})
	}
}

// As many calls as there can be: each is counted, and the functions of some are known.
func TestLiveAStormOfCallsIsCountedAndSomeOfItHasFunctions(t *testing.T) {
	for _, c := range callers(t) {
		t.Run(c.Name, func(t *testing.T) {
			rounds := testlimit.Calls(6000)
			if read := c.check(t, rounds, 0); read < 200 {
				t.Errorf("the functions of %d of %d calls were read", read, 6*rounds)
			}
		})
	}
}

// check runs the program and compares the profile of its calls with what it does. It returns of how
// many calls the functions are known for sure.
func (c caller) check(t *testing.T, rounds, burn int) (exact uint64) {
	t.Helper()
	cmd := c.Program("testdata/ppid", strconv.Itoa(rounds), strconv.Itoa(burn))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, cmd)
	defer cmd.Wait()
	defer in.Close()
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	p := profileOf(t, cmd.Process.Pid, in, said)
	truth := map[string]uint64{"one": uint64(rounds), "two": uint64(2 * rounds), "three": uint64(3 * rounds)}
	got := make(map[string]uint64)
	var all, none, late uint64
	for _, row := range p.Rows {
		n := row.Values[1]
		all += n
		var names []string
		isLate := false
		for _, f := range p.Stacks[row.User].Frames {
			frame := &p.Frames[f]
			isLate = isLate || frame.Name == stack.Late
			if p.Objects[frame.Object].Runtime != "" {
				names = append(names, frame.Name[strings.LastIndex(frame.Name, ":")+1:])
			}
		}
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
		if len(names) <= len(want) || !slices.Equal(names[:len(want)], want) || truth[names[len(want)]] == 0 {
			t.Errorf("%d calls have the chain %v, which there is not", n, names)
			continue
		}
		got[names[len(want)]] += n
	}
	note := slices.IndexFunc(p.Notes, interpretedNote.MatchString)
	if note < 0 {
		t.Fatalf("no note on interpreted functions in %q", p.Notes)
	}
	t.Logf("%s; %d calls: %v, %d late, %d without", p.Notes[note], all, got, late, none)
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

// profileOf profiles the calls of getppid in a process, which begins to call when it is told to, and
// says when it has.
func profileOf(t *testing.T, pid int, in io.Writer, said *bufio.Reader) *profile.Profile {
	t.Helper()
	spec := &probe.Spec{Place: probe.User, Kind: 'p', Probe: "libc:getppid", Whole: true}
	target := perfevent.Process(pid)
	set, err := probe.Open(spec, probe.Options{Target: target, Calls: probe.AllCalls, UserStacks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}()
	collector := calls.NewCalls("getppid", set.Sources, stack.Stacks{User: true, Unwind: stack.Auto, Entry: set.AtEntry, Moments: true})
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	done := make(chan error, 1)
	begin := func() error {
		go func() {
			_, err := said.ReadString('\n')
			done <- err
			cancel()
		}()
		_, err := io.WriteString(in, "\n")
		return err
	}
	result, err := profiler.Run(ctx, profiler.Options{Target: target, Collectors: []table.Collector{collector}, Whole: true, Memory: 64 << 20,
		Logger: slog.New(slog.DiscardHandler), Armed: begin, Report: func(*profile.Profile) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the program has not ended well: %v", err)
	}
	if a := result.Accounts[0]; a.Lost > 0 || a.Received != a.Counted {
		t.Errorf("not all records came: %s", fmt.Sprintf("%+v", a))
	}
	return result.Whole
}

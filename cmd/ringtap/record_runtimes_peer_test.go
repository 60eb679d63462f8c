package main

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// sharesPrograms is where the programs are, one per language, that call one, two and three below eleven calls
// of down for a sixth, a third and half of their time. All of these call burn.
const sharesPrograms = "../../internal/collect/oncpu/testdata"

// sharesProgram is such a program.
type sharesProgram struct {
	name    string
	rounds  int // for about a second
	command func(t *testing.T, rounds string) []string
}

func allSharesPrograms(t *testing.T) (all []sharesProgram) {
	rounds := map[string]int{"python": 6000, "php": 15000, "perl": 2000, "ruby": 5000}
	for _, i := range livetest.OfEachLanguage(t) {
		all = append(all, sharesProgram{i.Name, rounds[i.Language], func(_ *testing.T, rounds string) []string {
			return i.Program(filepath.Join(sharesPrograms, "shares"), rounds).Args
		}})
	}
	return append(all,
		sharesProgram{"node", 400000, func(_ *testing.T, rounds string) []string {
			return []string{"node", filepath.Join(sharesPrograms, "shares.js"), rounds}
		}},
		sharesProgram{"java", 5000000, func(t *testing.T, rounds string) []string {
			recipe := compiled.Recipe{Sources: compiled.Sources(t, filepath.Join(sharesPrograms, "Shares.java")), Commands: [][]string{{"javac", "Shares.java"}}}
			return []string{"java", "-cp", recipe.Dir(t), "Shares", rounds}
		}})
}

// sharesCall finds the calls of a function of these programs, in ringtap's folded stacks and in the paths
// under which perf script shows them: "down", "Object#down", "long Shares.down(int)", "/a/shares.py:down".
var sharesCall = regexp.MustCompile(`^(?:.*[ .:#])?(down|one|two|three|burn)(?: ?\(.*)?$`)

// sharesChain is a whole stack below the last call of down, with a letter for each call.
var sharesChain = regexp.MustCompile(`^d{11}[123]b*$`)

// callsOfShares returns a letter for each call of these functions in a stack, outermost first.
func callsOfShares(frames []string) string {
	letters := map[string]string{"down": "d", "one": "1", "two": "2", "three": "3", "burn": "b"}
	calls := ""
	for _, f := range frames {
		if m := sharesCall.FindStringSubmatch(f); m != nil {
			calls += letters[m[1]]
		}
	}
	return calls
}

// A recording has the functions of runtimes, with the callers that the program gives them. A tool that
// knows nothing of them, perf, shows them as objects in the same stacks.
func TestPeerARecordingHasTheFunctionsOfRuntimes(t *testing.T) {
	perfrecord.Need(t)
	for _, program := range allSharesPrograms(t) {
		t.Run(program.name, func(t *testing.T) {
			testlimit.Enough(t, program.rounds, func(rounds int) bool {
				command := program.command(t, strconv.Itoa(rounds))
				if _, err := exec.LookPath(command[0]); err != nil {
					t.Skipf("%s is not installed", command[0])
				}
				path := filepath.Join(t.TempDir(), "perf.data")
				code, _, stderr := called(t, append([]string{"ringtap", "record", "-F", strconv.Itoa(recordedHz), "-e", "cpu-clock", "-o", path, "--"}, command...)...)
				if code != 0 {
					t.Fatalf("exit status %d: %s", code, stderr)
				}
				calls := callsOfRecording(t, path)
				comparePerfsCalls(t, path, calls)
				return checkCallsOfShares(t, calls)
			})
		})
	}
}

// recordedHz divides a second without a rest, so that all samples have the same period.
const recordedHz = 500

// callsOfRecording returns how many samples have which calls, as ringtap reports a recording.
func callsOfRecording(t *testing.T, path string) map[string]int {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.folded")
	if code, _, stderr := called(t, "ringtap", "flame", path, "--out", out); code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	const period = 1e9 / recordedHz // of cpu-clock, in nanoseconds
	all := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		space := strings.LastIndexByte(line, ' ')
		n, err := strconv.Atoi(strings.TrimSpace(line[space:]))
		if err != nil {
			t.Fatal(err)
		}
		all[callsOfShares(strings.Split(line[:space], ";"))] += n / period
	}
	return all
}

// checkCallsOfShares compares calls with what the program does, and reports whether enough of them are
// known. What a runtime throws away while the program starts may have no name.
func checkCallsOfShares(t *testing.T, calls map[string]int) bool {
	t.Helper()
	var all, below, wrong int
	var callee [3]int
	for chain, n := range calls {
		all += n
		switch {
		case sharesChain.MatchString(chain):
			below += n
			callee[chain[11]-'1'] += n
		case strings.Trim(chain, "d") != "":
			t.Logf("%d samples have the calls %s, which there are not", n, chain)
			wrong += n
		}
	}
	t.Logf("%d samples, %d below down, %d wrong", all, below, wrong)
	if below < 50 || below < all/2 || wrong > all/50 {
		return false
	}
	for i, got := range callee {
		share := float64(i+1) / 6
		if off := math.Abs(float64(got) - share*float64(below)); off > 5*math.Sqrt(float64(below)*share*(1-share)) {
			t.Errorf("callee %d has %d of %d samples, want %.1f%%", i+1, got, below, 100*share)
		}
	}
	return true
}

// scriptObject is the object at the end of a frame of perf script.
var scriptObject = regexp.MustCompile(`\((.*)\)$`)

// comparePerfsCalls compares the calls with those that perf shows as objects.
func comparePerfsCalls(t *testing.T, path string, want map[string]int) {
	t.Helper()
	got := make(map[string]int)
	var frames []string
	for line := range strings.Lines(perfrecord.Quietly(t, "script", "--no-inline", "-F", "comm,ip,sym,dso", "-i", path)) {
		line = strings.TrimRight(line, "\n")
		switch m := scriptObject.FindStringSubmatch(line); {
		case line == "":
			got[callsOfShares(frames)]++
			frames = nil
		case m != nil:
			frames = append([]string{m[1]}, frames...)
		}
	}
	for chain, n := range want {
		if chain != "" && got[chain] != n {
			t.Errorf("perf shows %d samples with the calls %s, and ringtap %d", got[chain], chain, n)
		}
	}
	if len(got) < 2 {
		t.Errorf("perf shows no calls: %v", got)
	}
}

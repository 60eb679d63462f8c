package oncpu_test

import (
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// The programs know who calls whom, how often, and with what share of the time. They run for
// seconds: a runtime is looked at when its first samples are read, a fifth of a second later.
func TestLiveChainsOfRuntimesAreThoseThatTheProgramMakes(t *testing.T) {
	for _, test := range []struct {
		name     string
		command  func(t *testing.T) []string
		rounds   int
		thorough bool // a mode that few choose: for make test-all
	}{
		{"node", javaScript(), 400000, false},
		{"node, interpreted", javaScript("--no-opt", "--no-sparkplug"), 100000, false},
		{"node, baseline", javaScript("--no-opt", "--always-sparkplug"), 400000, true},
		{"node without generated code", javaScript("--jitless"), 150000, true},
		{"java", java(), 5000000, false},
		{"java, interpreted", java("-Xint"), 60000, false},
		{"java, first compiler", java("-XX:TieredStopAtLevel=1"), 4000000, true},
		{"java without inlining", java("-XX:-Inline"), 4000000, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.thorough {
				testlimit.Thorough(t)
			}
			command := test.command(t)
			collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 499, Stacks: stack.Stacks{User: true, Unwind: stack.Auto}}
			testlimit.Enough(t, test.rounds, func(rounds int) bool {
				p, _ := livetest.Run(t, exec.Command(command[0], append(command[1:], strconv.Itoa(rounds))...), perfevent.Started, collector, 0)
				return checkShares(t, p)
			})
		})
	}
}

func javaScript(flags ...string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		return slices.Concat([]string{installed(t, "node")}, flags, []string{filepath.Join("testdata", "shares.js")})
	}
}

func java(flags ...string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		program := installed(t, "java")
		recipe := compiled.Recipe{
			Sources:  compiled.Sources(t, filepath.Join("testdata", "Shares.java")),
			Commands: [][]string{{"javac", "Shares.java"}},
		}
		return slices.Concat([]string{program}, flags, []string{"-cp", recipe.Dir(t), "Shares"})
	}
}

func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// checkShares compares a profile with what the program does, and reports whether most of it is known. On
// a busy host what a runtime has compiled first is replaced before the first samples are named.
func checkShares(t *testing.T, p *profile.Profile) (enough bool) {
	t.Helper()
	java := regexp.MustCompile(`^long Shares\.(\w+)\(.*`)
	shares := map[string]float64{"one": 1. / 6, "two": 2. / 6, "three": 3. / 6}
	got := make(map[string]float64)
	var all, unnamed, below float64
	broken := make(map[string]uint64)
	for _, row := range p.Rows {
		if row.User == profile.None {
			continue
		}
		value := row.Values[0]
		all += float64(value)
		var names []string
		for _, f := range p.Stacks[row.User].Frames {
			names = append(names, java.ReplaceAllString(p.Frames[f].Name, "$1"))
		}
		if names[len(names)-1] == "" {
			unnamed += float64(value)
		}
		first := slices.Index(names, "down")
		if first < 0 {
			if slices.Contains(names, "burn") { // its callers are missing
				broken[join(names)] += value
			}
			continue
		}
		calls := first
		for calls < len(names) && names[calls] == "down" {
			calls++
		}
		deep := calls - first
		if calls == len(names) || shares[names[calls]] == 0 {
			// Runtimes have functions of their own, which are leaves.
			if deep > 11 || slices.Contains(names[calls:], "burn") {
				broken[join(names)] += value
			}
			continue
		}
		got[names[calls]] += float64(value)
		below += float64(value)
		burns := 0
		for _, name := range names[calls+1:] {
			if name == "burn" {
				burns++
			} else if shares[name] != 0 || name == "down" {
				burns = math.MaxInt
				break
			}
		}
		if deep != 11 || burns > 51 {
			broken[join(names)] += value
		}
	}
	// What V8 replaces while the program runs is read a moment after the sample: in some of
	// 500 samples a function has no name, or one that is being entered hides its caller.
	var wrong uint64
	for chain, value := range broken {
		t.Logf("%d samples have the chain %s, which there is not", value, chain)
		wrong += value
	}
	t.Logf("%.0f samples, %.2f%% of the leaves without a name, %.0f in chains that are known, %d in chains that there are not", all, 100*unnamed/all, below, wrong)
	if all < 100 || below < all/2 || unnamed > 0.05*all || float64(wrong) > 0.02*all {
		return false
	}
	for name, share := range shares {
		if off := math.Abs(got[name] - share*below); off > 5*math.Sqrt(below*share*(1-share)) {
			t.Errorf("%s has %.1f%% of the samples, want %.1f%%", name, 100*got[name]/below, 100*share)
		}
	}
	return true
}

func join(names []string) string {
	text := ""
	for _, name := range names {
		text += ";" + name
	}
	return text
}

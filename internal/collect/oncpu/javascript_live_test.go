package oncpu_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// javaScriptModes are the ways in which V8 runs a function, and so many rounds of calls.js as take
// a second or two. The first is tested each time.
var javaScriptModes = []struct {
	name   string
	flags  []string
	rounds int
}{
	{"as it comes", nil, 40000},
	{"interpreted", []string{"--no-opt", "--no-sparkplug", "--no-maglev"}, 3000},
	{"baseline", []string{"--no-opt", "--always-sparkplug", "--no-maglev"}, 8000},
	{"maglev", []string{"--no-opt", "--maglev"}, 15000},
	{"optimized", []string{"--no-maglev"}, 15000},
	{"without generated code", []string{"--jitless"}, 3000},
	{"with all positions", []string{"--no-enable-lazy-source-positions", "--no-opt", "--no-sparkplug", "--no-maglev"}, 3000},
}

// Who calls whom in calls.js, and in which line, stands in its text.
func TestLiveCallsOfJavaScriptAreThoseOfItsSource(t *testing.T) {
	source := readCalls(t, filepath.Join("testdata", "calls.js"))
	for _, node := range nodes(t) {
		for i, mode := range javaScriptModes {
			t.Run(node.name+", "+mode.name, func(t *testing.T) {
				if !node.gate || i > 0 {
					testlimit.Thorough(t)
				}
				flags := node.accepted(t, mode.flags)
				rounds := mode.rounds
				if testlimit.Emulated() { // with fewer, it has ended before its functions are read
					rounds /= 4
				}
				testlimit.Enough(t, rounds, func(rounds int) bool {
					command := slices.Concat(flags, []string{filepath.Join("testdata", "calls.js"), strconv.Itoa(rounds)})
					collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 499, Stacks: stack.Stacks{User: true, Unwind: stack.Auto}}
					p, _ := livetest.Run(t, exec.Command(node.path, command...), perfevent.Started, collector, 0)
					return source.check(t, p)
				})
			})
		}
	}
}

// calls is what a program's text says of its calls.
type calls struct {
	file   string
	lines  map[string]map[int]bool // of a function
	begin  map[string]int
	callee map[int][]string // by line
}

func readCalls(t *testing.T, file string) *calls {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &calls{file: filepath.Base(file), lines: make(map[string]map[int]bool), begin: make(map[string]int), callee: make(map[int][]string)}
	mark := regexp.MustCompile(`//([=>-]) ([^/]*[^/ ])`)
	has := func(name string, line int) {
		if c.lines[name] == nil {
			c.lines[name], c.begin[name] = make(map[int]bool), line
		}
		c.lines[name][line] = true
	}
	running := ""
	for i, line := range strings.Split(string(text), "\n") {
		for _, m := range mark.FindAllStringSubmatch(line, -1) {
			switch m[1] {
			case "=":
				running = m[2]
			case "-":
				has(m[2], i+1)
			case ">":
				c.callee[i+1] = strings.Fields(m[2])
			}
		}
		if running != "" {
			has(running, i+1)
		}
	}
	return c
}

// place is a function and a line.
type place struct {
	name string
	line int
}

// unknown is in place of a function that has no name.
var unknown = place{}

// wrong says what is wrong about the calls of a chain, "" for nothing.
func (c *calls) wrong(chain []place) string {
	for i, at := range chain {
		lines := c.lines[at.name]
		switch {
		case at == unknown:
			continue
		case lines == nil:
			return fmt.Sprintf("there is no function %s", at.name)
		case at.line != 0 && !lines[at.line]:
			return fmt.Sprintf("line %d is not one of %s", at.line, at.name)
		case i+1 == len(chain):
			return ""
		}
		to := chain[i+1].name
		if chain[i+1] == unknown {
			continue
		}
		if at.line != 0 && slices.Contains(c.callee[at.line], to) {
			continue
		}
		if at.line != 0 && at.line != c.begin[at.name] { // where the position is not known
			return fmt.Sprintf("line %d of %s does not call %s", at.line, at.name, to)
		}
		found := false
		for line := range lines {
			found = found || slices.Contains(c.callee[line], to)
		}
		if !found {
			return fmt.Sprintf("%s does not call %s", at.name, to)
		}
	}
	return ""
}

// wrongShare is how many samples there must be for each one that is wrong.
const wrongShare = 500

// check compares all chains of a profile with the text. It reports whether most are of the program and have
// names: what is compiled or gone within a fifth of a second of its sample has none, which is much of a run
// that ends within a second.
func (c *calls) check(t *testing.T, p *profile.Profile) (enough bool) {
	t.Helper()
	var all, own, unnamed, wrong uint64
	reasons := make(map[string]uint64)
	for _, row := range p.Rows {
		if row.User == profile.None {
			continue
		}
		value := row.Values[0]
		all += value
		chain := c.chain(p, p.Stacks[row.User].Frames)
		if !slices.ContainsFunc(chain, func(at place) bool { return at != unknown }) {
			continue
		}
		own += value
		if why := c.wrong(chain); why != "" {
			wrong += value
			reasons[fmt.Sprintf("%s in %v of %s", why, chain, names(p, row.User))] += value
		} else if slices.Contains(chain, unknown) {
			unnamed += value
			reasons[fmt.Sprintf("a function without a name in %v of %s", chain, names(p, row.User))] += value
		}
	}
	for why, value := range reasons {
		t.Logf("%d samples: %s", value, why)
	}
	t.Logf("%d samples, %d of them in the program: %d chains with a function without a name, %d wrong ones", all, own, unnamed, wrong)
	if own < wrongShare { // one wrong sample would be too many
		return false
	}
	if wrong > own/wrongShare {
		t.Errorf("%d of %d samples have calls that the program does not have", wrong, own)
	}
	most := own >= all/2 || testlimit.Emulated() // where the start takes most of the time
	return most && unnamed <= own/10
}

// chain is the program's part of a chain.
func (c *calls) chain(p *profile.Profile, frames []int) (chain []place) {
	for i, f := range frames {
		frame := &p.Frames[f]
		switch {
		case p.Objects[frame.Object].Runtime != "" && len(frame.Lines) > 0 && filepath.Base(frame.Lines[0].File) == c.file:
			chain = append(chain, place{frame.Name, frame.Lines[0].Line})
		case frame.Name == "", frame.Name == "[inlined?]", strings.HasPrefix(frame.Name, interprets) && i < len(frames)-1:
			chain = append(chain, unknown)
		}
	}
	return chain
}

// interprets is the function of V8 that stands for one of the program, unless that is entered just now.
const interprets = "Builtins_InterpreterEntryTrampoline"

func names(p *profile.Profile, stack int) string {
	var all []string
	for _, f := range p.Stacks[stack].Frames {
		all = append(all, fmt.Sprintf("%s+%#x", p.Frames[f].Name, p.Frames[f].Offset))
	}
	return strings.Join(all, ";")
}

// node is one that is installed.
type node struct {
	name string
	path string
	gate bool // it is tested each time
}

// newestLTS is the release that make test unpacks (scripts/install-test-deps).
const newestLTS = "24"

// nodes are the machine's and those that scripts/install-node has unpacked.
func nodes(t *testing.T) []node {
	t.Helper()
	var all []node
	if path, err := exec.LookPath("node"); err == nil {
		all = append(all, node{"node", path, true})
	}
	if cache, err := os.UserCacheDir(); err == nil {
		unpacked, _ := filepath.Glob(filepath.Join(cache, "ringtap/nodes/*/bin/node"))
		for _, path := range unpacked {
			release := filepath.Base(filepath.Dir(filepath.Dir(path)))
			all = append(all, node{"node " + release, path, release == newestLTS})
		}
	}
	if len(all) == 0 {
		t.Skip("node is not installed")
	}
	return all
}

// accepted are the flags that a release knows.
func (n *node) accepted(t *testing.T, flags []string) (known []string) {
	t.Helper()
	for _, flag := range flags {
		if exec.Command(n.path, flag, "--version").Run() == nil {
			known = append(known, flag)
		} else if !strings.HasPrefix(flag, "--no-") {
			t.Skipf("%s has no %s", n.name, flag)
		}
	}
	return known
}

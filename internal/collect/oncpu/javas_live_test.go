package oncpu_test

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// javaModes are how Ways is run, in releases of the JDK from one to another.
var javaModes = []struct {
	from, to int
	flags    string
	way      string
}{
	{8, 99, "-XX:+UseSerialGC", "allocate"},
	{8, 99, "-XX:+UseParallelGC", "throw"},
	{8, 99, "-XX:+UseG1GC", "lock"},
	{15, 20, "-XX:+UseZGC", "plain"},
	{21, 22, "-XX:+UseZGC -XX:+ZGenerational", "plain"},
	{23, 99, "-XX:+UseZGC", "plain"},
	{11, 99, "-XX:+UseShenandoahGC", "allocate"},
	{25, 99, "-XX:+UseCompactObjectHeaders", "allocate"},
	{8, 99, "-Xint", "reflect"},
	{8, 99, "-XX:TieredStopAtLevel=1", "stubs"},
	{8, 99, "-XX:-TieredCompilation", "plain"},
	{8, 99, "-XX:-UseCompressedOops -XX:+PreserveFramePointer", "plain"},
	{8, 99, "", "native"},
	{8, 99, "", "yield"},
	{8, 99, "-Xmx64m", "unload"},
	{21, 99, "", "lock virtual"},
	{21, 99, "", "yield virtual"},
	{21, 99, "-Xint", "yield virtual"},
}

func TestLiveChainsOfEveryJavaAreThoseThatTheProgramMakes(t *testing.T) {
	testlimit.Thorough(t)
	javas := interptest.Javas()
	if len(javas) == 0 {
		t.Skip("java of other releases is not installed: scripts/install-java unpacks them")
	}
	ways := compiled.Recipe{
		Sources:  compiled.Sources(t, filepath.Join("testdata", "Ways.java")),
		Commands: [][]string{{installed(t, "javac"), "-Xlint:-options", "--release", "8", "Ways.java"}},
	}
	frequency := uint64(999)
	if testlimit.Emulated() {
		// There a sample takes milliseconds: of more, the last ones would be unwound when the program has ended.
		frequency = 99
	}
	rest := fmt.Sprintf("-Drest=%d", testlimit.Patience(500*time.Millisecond).Milliseconds())
	for _, release := range slices.Sorted(maps.Keys(javas)) {
		major, err := strconv.Atoi(release)
		if err != nil {
			continue
		}
		for _, mode := range javaModes {
			if major < mode.from || major > mode.to {
				continue
			}
			t.Run(strings.Join([]string{release, mode.way, mode.flags}, " "), func(t *testing.T) {
				collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: frequency, Stacks: stack.Stacks{User: true, Unwind: stack.Auto}}
				testlimit.Enough(t, int(testlimit.Patience(time.Second).Milliseconds()), func(milliseconds int) bool {
					way := strings.Fields(mode.way)
					arguments := slices.Concat(strings.Fields(mode.flags), []string{rest, "-cp", ways.Dir(t), "Ways", way[0], strconv.Itoa(milliseconds)}, way[1:])
					p, _ := livetest.Run(t, exec.Command(javas[release], arguments...), perfevent.Started, collector, 0)
					return checkWays(t, p, release, mode.way == "yield virtual")
				})
			})
		}
	}
}

// wayOf has a letter for each method of Ways that a chain must have.
var wayOf = map[string]string{"down": "d", "one": "o", "two": "o", "three": "o", "burn": "b"}

// A chain of Ways is eleven calls of down, one that it makes, and up to 51 of burn. C2 has no information on
// most instructions: what it has inlined of burn in burn may be one call more. A thread that has left down
// may stand anywhere. Of a virtual thread that has waited, the outer calls may be in the heap.
var (
	chainOfWays = regexp.MustCompile(`^(d{0,11}|d{11}ob{0,52})$`)
	endOfWays   = regexp.MustCompile(`^(d{0,11}|d{0,11}ob{0,52}|b{0,52})$`)
)

// checkWays compares a profile with what Ways does, and reports whether there is enough of it.
func checkWays(t *testing.T, p *profile.Profile, release string, yields bool) bool {
	t.Helper()
	method := regexp.MustCompile(`\bWays\.(\w+)\(`)
	var all, wrong, early, below, inHeap uint64
	for _, row := range p.Rows {
		if row.User == profile.None {
			continue
		}
		var names []string
		calls, chain, heap := "", chainOfWays, false
		for _, f := range p.Stacks[row.User].Frames {
			frame := &p.Frames[f]
			names = append(names, frame.Name)
			if runtime := p.Objects[frame.Object].Runtime; runtime != "" && runtime != "HotSpot "+release {
				t.Fatalf("%s is a function of %s", frame.Name, runtime)
			}
			if frame.Name == "[frames in the heap]" {
				calls, chain, heap = "", endOfWays, true
			}
			if m := method.FindStringSubmatch(frame.Name); m != nil {
				calls += wayOf[m[1]]
			}
		}
		if calls == "" && !heap {
			continue
		}
		value := row.Values[0]
		all += value
		outermost := &p.Objects[p.Frames[p.Stacks[row.User].Frames[0]].Object]
		switch {
		case outermost.Runtime == "" && !strings.HasPrefix(outermost.Path, "/"):
			early += value
		case !chain.MatchString(calls), outermost.Runtime != "":
			t.Logf("%d samples have a chain that there is not: %v", value, names)
			wrong += value
		case heap:
			inHeap += value
		case strings.Contains(calls, "o"):
			below += value
		}
	}
	t.Logf("%d samples in Ways: %d below down, %d with frames in the heap, %d end early, %d are wrong; %q", all, below, inHeap, early, wrong, p.Notes)
	// What is compiled in the last moments, or unloaded, may be gone before it is asked for.
	if wrong > 2+all/100 {
		t.Errorf("%d of %d chains are wrong", wrong, all)
	}
	if !yields && inHeap > 0 {
		t.Errorf("%d chains lead into the heap, and the thread does not wait", inHeap)
	}
	return all >= 100 && (inHeap >= 20 || !yields && below >= 20)
}

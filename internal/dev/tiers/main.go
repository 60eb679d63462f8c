package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/testkit/hermetic"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// tier is a kind of tests and the command that runs them. The command takes packages as
// arguments and prints the events of go test -json.
type tier struct {
	name    string
	command []string
	tests   string // a pattern of the tests' names; packages without such tests are left out
	live    bool   // needs the kernel's tracing
	guest   bool   // runs in a guest, on one CPU
	skipped string // runs only the tests that the tier of this name skipped; "": all
}

var tiers = []tier{
	{name: "unit", command: goTest("-skip=^Test(Live|Peer)")},
	{name: "live", command: goTest("-p=4", "-parallel=4"), tests: "^TestLive", live: true},
	{name: "peer", command: goTest("-p=2"), tests: "^TestPeer", live: true},
	// For the gate: it links each package's tests only once for both tiers.
	{name: "unit+peer", command: goTest("-p=3", "-skip=^TestLive"), live: true},
	{name: "guest", command: favored(inVM("6.1")), guest: true, skipped: "live"},
	{name: "vm-6.1", command: inVM("6.1"), guest: true},
	{name: "vm-nobpf", command: inVM("nobpf"), guest: true},
	{name: "vm-6.12", command: inVM("6.12"), guest: true},
	{name: "vm-7", command: inVM("7"), guest: true},
	{name: "vm-arm64", command: inVM("arm64"), guest: true},
	// The only guest with hardware counters. It hangs now and then.
	{name: "vm-arm64-pmu", command: inVM("arm64-pmu", "--run=^TestLiveCounters"), guest: true},
}

// lane is a list of tiers that run one after another.
type lane []tier

// Stages run one after another, and the lanes of a stage at the same time. The live tier
// samples the whole host, so it runs alone. Only two emulated guests run at the same time,
// because their tests sample programs that must get CPU time.
var (
	gate = [][]string{{"live"}, {"unit+peer", "guest"}}
	all  = [][]string{{"unit"}, {"live"}, {"peer"}, {"vm-6.1 vm-6.12 vm-7 vm-arm64-pmu", "vm-arm64 vm-nobpf"}}
)

// slowest matches the packages with which a tier starts, so that none of them runs alone at the end.
var slowest = regexp.MustCompile(`/(cmd/ringtap|internal/(collect/(profiler|calls|offcpu|oncpu)|bpftrace/session|readmem/helper)|uprobe(/placement)?)$`)

// goTest leaves vet to make check. It compiles with -trimpath, as make check does: the result then does not
// depend on the directory of the clone, so that a new clone finds it in Go's cache.
func goTest(flags ...string) []string {
	return append([]string{"go", "test", "-trimpath", "-vet=off", "-json", "-count=1", "-timeout=20m"}, flags...)
}

func inVM(kernel string, flags ...string) []string {
	return append([]string{"go", "run", "./internal/dev/vmrun", "--kernel=" + kernel, "--test", "--json", "--timeout=2h"}, flags...)
}

// favored makes the scheduler prefer a command to the other commands of this program. A guest's clock ticks
// and costs CPU time even while the guest waits for a CPU. Three guests at the same time took 40% more CPU
// time for the same tests than one after another.
func favored(command []string) []string {
	return append([]string{"nice", "-n", "-10"}, command...)
}

func main() {
	hermetic.Set()
	names := os.Args[1:]
	stages, err := choose(names)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tiers:", err)
		os.Exit(2)
	}
	if slices.Contains(names, "all") {
		os.Setenv(testlimit.ThoroughVariable, "1")
	}
	r := runner{w: os.Stdout, packages: []string{"./..."}, report: "bin/live-tests.txt"}
	if !r.run(stages) {
		os.Exit(1)
	}
}

// choose returns the stages for the names of tiers. Without names these are the gate's.
// vm means the tiers of all kernels.
func choose(names []string) ([][]lane, error) {
	var stages [][]string
	for _, name := range names {
		switch name {
		case "all":
			stages = append(stages, all...)
		case "vm":
			stages = append(stages, all[len(all)-1])
		default:
			stages = append(stages, []string{name})
		}
	}
	if len(names) == 0 {
		stages = gate
	}
	var chosen [][]lane
	for _, stage := range stages {
		var lanes []lane
		for _, names := range stage {
			var l lane
			for _, name := range strings.Fields(names) {
				i := slices.IndexFunc(tiers, func(t tier) bool { return t.name == name })
				if i < 0 {
					return nil, fmt.Errorf("no tier is named %q; there are all, vm, %s", name, tierNames())
				}
				l = append(l, tiers[i])
			}
			lanes = append(lanes, l)
		}
		chosen = append(chosen, lanes)
	}
	return chosen, nil
}

func tierNames() string {
	var names []string
	for _, t := range tiers {
		names = append(names, t.name)
	}
	return strings.Join(names, ", ")
}

package oncpu_test

import (
	"debug/elf"
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

// A program that only adds numbers of a range up is in the functions for that, and their
// interpreter has no symbols for them.
func TestLiveStaticFunctionsOfAStrippedPythonHaveNames(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	python := "/usr/bin/python3"
	if f, err := elf.Open(python); err != nil || f.Section(".symtab") != nil {
		t.Skip("python3 is not installed") // or one that someone has built
	}
	const program = "import sys\ndef work():\n for _ in range(int(sys.argv[1])): sum(range(300, 2000))\nwork()"
	testlimit.Enough(t, 20000, func(rounds int) bool {
		collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 499, Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Interpreted: true}}
		p, _ := livetest.Run(t, exec.Command(python, "-c", program, strconv.Itoa(rounds)), perfevent.Started, collector, 0)
		var all, sums uint64
		for _, row := range p.Rows {
			names := below(p, &row, "work")
			if names == nil {
				continue
			}
			all += row.Values[0]
			if slices.Contains(names, "builtins.sum") {
				sums += row.Values[0]
			}
			for _, name := range names {
				owner, _, dotted := strings.Cut(name, ".")
				if dotted && !slices.Contains([]string{"builtins", "range", "range_iterator", "int", "object", "builtin_function_or_method", "type", "class"}, owner) {
					t.Errorf("%d samples are in %v", row.Values[0], names)
				}
			}
		}
		t.Logf("of %d samples %d are in builtins.sum", all, sums)
		return sums >= 50 && sums >= all*9/10
	})
}

// below are the functions of the interpreter's file that a function of Python has called,
// nil if it does not run. Those without a name are left out.
func below(p *profile.Profile, row *profile.Row, function string) (names []string) {
	if row.User == profile.None {
		return nil
	}
	for _, i := range p.Stacks[row.User].Frames {
		f := &p.Frames[i]
		switch {
		case f.Name == function:
			names = []string{}
		case names != nil && !f.Unnamed && strings.Contains(p.Objects[f.Object].Path, "python"):
			names = append(names, f.Name)
		}
	}
	return names
}

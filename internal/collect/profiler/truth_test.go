package profiler_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
	"github.com/ringtap/ringtap/perfevent"
)

// enough is the share of samples that must match the program's own chain; the rest falls
// on starting and ending and on the threads of Go's runtime. An emulated machine takes up
// to half a second to start a program: there only samples of a busy one count, where they
// can be told from others (see truth.Built.Busy).
func enough(built truth.Built) float64 {
	if testlimit.Emulated() && built.Chain[len(built.Chain)-1] == truth.Gap {
		return 0.5
	}
	return 0.93
}

// ofTheKernel are the programs whose chains depend on the kernel too: on what
// copies of the stack it makes and on its vDSO. The others' depend on how they
// were built, which any one kernel shows if it runs them: those of 32-bit
// programs run in the guest too, since not every host runs these.
var ofTheKernel = []string{"c-O2-fp", "c-O2-nofp", "threads-nofp", "children-nofp", "deep-nofp-45KiB", "vdso-nofp", "signal-nofp", "go"}

func TestLiveEveryProgramsChainIsFound(t *testing.T) {
	needRoot(t)
	unwinds, ms := stack.Unwinds(), 250
	if testlimit.Emulated() {
		unwinds, ms = []stack.Unwind{stack.Auto}, 1500
	}
	for _, program := range truth.Programs() {
		if testlimit.Emulated() && !slices.Contains(ofTheKernel, program.Name) && !program.Compat || program.Returns { // see package oncpu
			continue
		}
		t.Run(program.Name, func(t *testing.T) {
			built := program.Build(t)
			// Frame pointers alone find the chain only where all code keeps them, and a copied
			// stack alone only if it is the only one.
			ways := slices.DeleteFunc(slices.Clone(unwinds), func(u stack.Unwind) bool {
				return u == stack.FP && !program.FramePointers || u == stack.DWARF && program.Switches
			})
			testlimit.Enough(t, ms, func(ms int) bool {
				p := profileCommand(t, built.Command(float64(ms)/1000), ways...)
				for column, unwind := range ways {
					if share := matchingColumn(t, p, column, built); share < enough(built) {
						t.Logf("%s: %.1f %% of the samples have the program's chain, want %.0f %%", unwind, 100*share, 100*enough(built))
						return false
					}
				}
				return true
			})
		})
	}
}

// Without a random address the stack of a 32-bit program ends where its address space does. The
// kernel then cuts the copy at that end, amid a word, and so the record.
func TestLiveStacksAtTheEndOfTheAddressSpaceAreWhole(t *testing.T) {
	needRoot(t)
	program := truth.Named("i386-plt-nofp")
	if !program.Compat {
		t.Skip("there are no 32-bit programs for " + runtime.GOARCH)
	}
	built := program.Build(t)
	fixed := compiled.Recipe{
		Sources:  map[string]string{"fixed.c": fixedAddresses},
		Commands: [][]string{{"gcc", "-O2", "-static", "-o", "fixed", "fixed.c"}},
	}.Dir(t)
	cmd := built.Command(0.4)
	if testlimit.Emulated() {
		cmd = built.Command(1.5)
	}
	p := profileCommand(t, exec.Command(filepath.Join(fixed, "fixed"), cmd.Args...), stack.Auto)
	if share := matching(t, p, built); share < enough(built) {
		t.Errorf("%.1f %% of the samples have the program's chain, want %.0f %%", 100*share, 100*enough(built))
	}
}

// fixedAddresses runs its arguments as a command whose addresses are not random.
const fixedAddresses = `
#include <sys/personality.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (personality(ADDR_NO_RANDOMIZE) < 0)
		return 1;
	execv(argv[1], argv + 1);
	return 1;
}
`

// profileCommand profiles a command from its start to its end, in each of the ways at once.
func profileCommand(t *testing.T, cmd *exec.Cmd, ways ...stack.Unwind) *profile.Profile {
	t.Helper()
	command, err := perfevent.StartCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer command.Wait()
	defer command.Kill()
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	result, err := profiler.Run(ctx, options(perfevent.Started(command), ways...))
	if err != nil {
		t.Fatal(err)
	}
	if state, err := command.Wait(); err != nil || !state.Success() {
		t.Errorf("%s: %v, %v", cmd.Path, state, err)
	}
	return result.Whole
}

// options has a collector for each of the ways, whose samples are its column.
func options(target perfevent.Target, ways ...stack.Unwind) profiler.Options {
	opts := profiler.Options{
		Target: target,
		Whole:  true,
		Memory: 256 << 20,
		Logger: slog.New(slog.DiscardHandler),
		Report: func(*profile.Profile) error { return nil },
	}
	for _, unwind := range ways {
		opts.Collectors = append(opts.Collectors, &oncpu.Collector{
			Event:     perfevent.CPUClock(),
			Frequency: 250, // the most at which stacks of 45 KiB are copied whole
			Stacks:    stack.Stacks{User: true, Kernel: true, Unwind: unwind},
		})
	}
	return opts
}

// matching is the share of samples whose user stack is the program's chain, of
// all but those in the kernel that are elsewhere: how long it takes to start and
// to end, to wait for a child or to wake a thread is the host's affair, which on
// a busy one took a fifth of a run. It logs stacks that are not the chain. Of fewer than 25 samples it is 0.
func matching(t *testing.T, p *profile.Profile, built truth.Built) float64 {
	t.Helper()
	return matchingColumn(t, p, 0, built)
}

// matchingColumn is matching of the samples of one of several collectors.
func matchingColumn(t *testing.T, p *profile.Profile, column int, built truth.Built) float64 {
	t.Helper()
	var all, right uint64
	wrong := make(map[string]uint64)
	for _, row := range p.Rows {
		if row.User == profile.None || row.Values[column] == 0 {
			continue
		}
		err := built.Match(names(p, row.User))
		if err != nil && (row.Kernel != profile.None || testlimit.Emulated() && !built.Busy(names(p, row.User))) {
			continue
		}
		all += row.Values[column]
		if err != nil {
			wrong[err.Error()] += row.Values[column]
			continue
		}
		right += row.Values[column]
	}
	if all < 25 {
		t.Logf("only %d samples: %+v", all, p.Accounts)
		return 0
	}
	if right == 0 {
		t.Logf("no sample has the program's chain: %+v", p.Accounts)
	}
	logged := 0
	for text, n := range wrong {
		if logged++; logged <= 5 {
			t.Logf("%d samples: %s", n, text)
		}
	}
	return float64(right) / float64(all)
}

// names are the functions of a stack, root first.
func names(p *profile.Profile, stack int) []string {
	var all []string
	for _, f := range p.Stacks[stack].Frames {
		all = append(all, p.Frames[f].Name)
	}
	return all
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: kernel stacks and other processes are for root only")
	}
}

package memleak_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/allocator"
	"github.com/ringtap/ringtap/internal/collect/memleak"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
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

// keeper runs testdata/keep: its functions one, two and three keep so many blocks as they say, below
// eleven calls of down.
type keeper struct{ livetest.Interpreter }

// keptBytes is the size of a block, but for a few bytes.
const keptBytes = 100000

func TestLiveMemoryStandsByTheInterpretedFunctionsThatKeepIt(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for i, interpreter := range livetest.OfEachLanguage(t) {
		k := keeper{interpreter}
		every := []uint64{0, 2 * keptBytes}[i%2]
		t.Run(fmt.Sprint(k.Name, " every ", every), func(t *testing.T) {
			testlimit.Enough(t, 100, func(rounds int) bool { return k.check(t, rounds, every) })
		})
	}
}

// check runs the program and compares the memory that stands with what it keeps. It reports whether
// the functions of most of it are known.
func (k keeper) check(t *testing.T, rounds int, every uint64) (known bool) {
	t.Helper()
	var p *profile.Profile
	var reading memleak.Reading
	testlimit.Lossless(t, func() (lost uint64) {
		p, reading, lost = k.profile(t, rounds, every)
		return lost
	})
	truth := map[string]float64{"one": float64(rounds), "two": float64(2 * rounds), "three": float64(3 * rounds)}
	kept := make(map[string]float64) // blocks
	var late, none, small float64
	for _, row := range p.Rows {
		blocks := float64(row.Values[0]) / keptBytes
		names, isLate := livetest.Calls(p, &row)
		livetest.CheckPlaces(t, p, &row)
		at := slices.IndexFunc(names, func(name string) bool { return truth[name] > 0 })
		switch {
		case len(names) == 0:
			none += blocks
			continue
		case isLate:
			late += blocks
			continue
		case blocks > 0.5 && at < 0 && every == 0:
			t.Errorf("%.1f blocks stand by %v", blocks, names)
			continue
		case at < 0:
			small += blocks
			continue
		}
		if want := append([]string{k.Main}, slices.Repeat([]string{"down"}, 11)...); !livetest.AreCalls(names[:at], want) {
			t.Errorf("%.1f blocks have the chain %v, which there is not", blocks, names)
		}
		kept[names[at]] += blocks
	}
	t.Logf("%s; blocks by function %v, %.1f late, %.1f without", p.Notes, kept, late, none)
	// A small thing that is sampled stands for so many bytes. The program has some ten kilobytes of them.
	if few := 5 * float64(every) / keptBytes; every > 0 && small > few {
		t.Errorf("%.1f blocks stand by other functions, want %.1f at most", small, few)
	}
	probability := 1.
	if every > 0 {
		probability = -math.Expm1(-keptBytes / float64(every))
	}
	var all, exact float64
	for name, want := range truth {
		slack := 5*math.Sqrt(want*(1-probability)/probability) + 0.02*want + 5*reading.StandardError()/keptBytes
		if kept[name] > want+slack || kept[name]+none+late < want-slack {
			t.Errorf("%.1f blocks stand by %s, want %.0f", kept[name], name, want)
		}
		all, exact = all+want, exact+kept[name]
	}
	return exact >= 0.7*all
}

// profile is of the memory that stands when the program has kept all. It returns how many records
// were lost as well.
func (k keeper) profile(t *testing.T, rounds int, every uint64) (p *profile.Profile, reading memleak.Reading, lost uint64) {
	t.Helper()
	rest := map[string]string{"python": "0.003", "php": "0.003", "perl": "0.02", "ruby": "0.003"}[k.Language] // seconds between hits: fewer than are thinned
	return profileOf(t, k.Program("testdata/keep", strconv.Itoa(rounds), rest), every)
}

// profileOf is of the memory of a program that stands when it says that it is done.
func profileOf(t *testing.T, cmd *exec.Cmd, every uint64) (p *profile.Profile, reading memleak.Reading, lost uint64) {
	t.Helper()
	cmd.Env = append(os.Environ(), "USE_ZEND_ALLOC=0")
	program := livetest.Start(t, cmd)
	defer program.Close()
	found, err := allocator.Find(allocator.Where{PIDs: []int{program.PID}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	found.Large = true
	target := perfevent.Process(program.PID)
	attached, err := allocator.Attach(found, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := attached.Close(); err != nil {
			t.Error(err)
		}
	}()
	c := memleak.New(attached.Sources, stack.Stacks{User: true, Unwind: stack.Auto, Interpreted: true}, memleak.Options{Every: every})
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	done := make(chan error, 1)
	result, err := profiler.Run(ctx, profiler.Options{Target: target, Collectors: []table.Collector{c}, Whole: true, Memory: 64 << 20, DebugFiles: livetest.NoDebugFiles,
		Logger: slog.New(slog.DiscardHandler), Report: func(*profile.Profile) error { return nil },
		Armed: func() error {
			go func() {
				_, err := program.Said.ReadString('\n')
				done <- err
				cancel()
			}()
			return program.Begin()
		}})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the program has not ended well: %v", err)
	}
	return result.Whole, c.Reading(), result.Accounts[0].Lost
}

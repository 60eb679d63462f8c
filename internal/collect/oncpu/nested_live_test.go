package oncpu_test

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// In a container threads have ids of their own, which are known even of those that end at once.
func TestLiveBriefThreadsInAPIDNamespaceAreSeen(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, python := range livetest.OfEachLayout(t) {
		if python.Language != "python" {
			continue
		}
		t.Run(python.Name, func(t *testing.T) {
			collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 499, Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Interpreted: true}}
			testlimit.Enough(t, 300, func(rounds int) bool {
				command := python.Program("testdata/brief", fmt.Sprint(rounds))
				command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
				p, _ := livetest.Run(t, command, perfevent.Started, collector, 0)
				var all, named uint64 // samples of the brief threads
				for _, row := range p.Rows {
					if row.User == profile.None {
						continue
					}
					names, late := livetest.Calls(p, &row)
					isMain := slices.Contains(names, python.Main)
					native := livetest.Chain(p, row.User)
					if slices.Contains(native, "[uretprobe]") { // of another tracer: callers are hidden, and so is whose thread it is
						continue
					}
					if slices.ContainsFunc(native, isStart) || !slices.ContainsFunc(native, isLoop) && len(names) == 0 {
						continue
					}
					if isMain && !late {
						t.Errorf("%d samples of a thread have the calls of the main one: %q in %q", row.Values[0], names, native)
					}
					all += row.Values[0]
					if len(names) > 0 {
						named += row.Values[0]
					}
				}
				t.Logf("%d of %d samples of the brief threads show functions", named, all)
				return all >= 100 && named*10 >= all*8
			})
		})
		return // the ids are the kernel's, the same for all of them
	}
}

// isStart reports whether a function is one that a program starts with, and not its other threads.
func isStart(name string) bool { return name == "_start" || name == "__libc_start_main" }

// isLoop reports whether a function is CPython's loop.
func isLoop(name string) bool { return name == "_PyEval_EvalFrameDefault" }

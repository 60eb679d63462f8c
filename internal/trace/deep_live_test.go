package trace_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/trace"
	"github.com/ringtap/ringtap/perfevent"
)

// The program's chains are thousands of calls deep, and say so by their names.
func TestLiveDeepStacksOfLinesAreWholeAndTrue(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	program := livetest.Deep(t)
	testlimit.Enough(t, 2000, func(ms int) bool {
		spec, err := probe.ParseUser("p:" + program + ":nap")
		if err != nil {
			t.Fatal(err)
		}
		set, err := probe.Open(spec, probe.Options{Target: perfevent.System(), UserStacks: true})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		command, err := perfevent.StartCommand(exec.Command(program, "hurry", strconv.Itoa(ms), "10000"))
		if err != nil {
			t.Fatal(err)
		}
		defer command.Wait()
		defer command.Kill()
		ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
		defer cancel()
		stacks := stack.Lines(true, false)
		stacks.Entry, stacks.Interpreted, stacks.Beyond = set.AtEntry, true, true
		var lines bytes.Buffer
		account, err := trace.Run(ctx, trace.Options{Target: perfevent.Started(command), Sources: set.Sources, Stacks: stacks, Out: &lines})
		if err != nil {
			t.Fatal(err)
		}
		var whole uint64
		for hit := range strings.SplitSeq(lines.String(), "<user stack trace>\n") {
			var names []string
			for frame := range strings.SplitSeq(hit, "\n") {
				if function, isFrame := strings.CutPrefix(frame, " => "); isFrame {
					name, _, _ := strings.Cut(function, "+")
					names = append(names, name)
				}
			}
			slices.Reverse(names)
			switch isChain, isDeep := livetest.CheckDeep(names); {
			case !slices.Contains(names, "main"): // it is cut short
			case !isChain:
				t.Errorf("a hit has a chain of %d calls, which there is not", len(names))
			case isDeep:
				whole++
			}
		}
		t.Logf("of %d hits %d have a whole stack, and %d one that is cut short", account.Shown, whole, account.Cut)
		return testlimit.Emulated() || whole*10 >= account.Shown*7 // those before the first reading have none
	})
}

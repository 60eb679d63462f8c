package io_test

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/io"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// The copies hold the innermost functions. Examples have the whole stack, which stands
// for all that begin like it, those before the first example too.
func TestLiveStacksThatAreCutAreJoinedToTheWholeOne(t *testing.T) {
	formats := ioFormats(t)
	program := livetest.Program(t, "deep")
	// Examples are so many a second: the first may come late.
	testlimit.Enough(t, 4000, func(reads int) bool {
		collector, err := io.New(process.Host{}, formats, io.ByNothing, stack.Stacks{User: true, Unwind: stack.DWARF, Copy: 512})
		if err != nil {
			t.Fatal(err)
		}
		whole, account := livetest.Run(t, exec.Command(program, fmt.Sprint(reads)), perfevent.Started, collector, 0)
		moved := livetest.ByFunction(whole, "level_")
		if t.Logf("%v; %+v", moved, account); account.Lost > 0 || moved["level_9"] == (livetest.Moved{}) {
			return false
		}
		for _, function := range []string{"level_0", "level_9"} {
			if got := moved[function]; got[0] != uint64(64*reads) || got[1] != uint64(reads) {
				t.Errorf("%s: %d bytes in %d calls, want %d in %d", function, got[0], got[1], 64*reads, reads)
			}
		}
		if account.Joined == 0 || account.Joined > account.Stacks {
			t.Errorf("%d stacks were joined of %d", account.Joined, account.Stacks)
		}
		return true
	})
}

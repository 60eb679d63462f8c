package io_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/io"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

func TestLiveRequestsOfIOURingAreWhatTheProgramMoved(t *testing.T) {
	formats := ioFormats(t)
	if formats.Submit == nil || formats.Complete == nil || formats.Complete.Field("req") == nil {
		t.Skip("the kernel does not trace the requests of io_uring (CONFIG_IO_URING, Linux 5.17)")
	}
	if text, err := os.ReadFile("/proc/sys/kernel/io_uring_disabled"); err == nil && strings.TrimSpace(string(text)) == "2" {
		t.Skip("kernel.io_uring_disabled is 2")
	}
	program := livetest.Program(t, "uring")
	var out bytes.Buffer
	var whole *profile.Profile
	for _, target := range []func(*perfevent.Command) perfevent.Target{perfevent.Started, nil} {
		testlimit.Lossless(t, func() uint64 {
			out.Reset()
			cmd := exec.Command(program, fmt.Sprint(testlimit.Calls(1000)))
			cmd.Stdout = &out
			collector, err := io.New(process.Host{}, formats, io.ByFile, stack.Stacks{User: true, Unwind: stack.Auto, Copy: 1024})
			if err != nil {
				t.Fatal(err)
			}
			var account profile.Account
			whole, account = livetest.Run(t, cmd, target, collector, 0)
			return account.Lost
		})
		got := livetest.ByFunction(livetest.Only(whole, program), "do_")
		for line := range strings.Lines(out.String()) {
			var name string
			var want livetest.Moved
			if _, err := fmt.Sscan(line, &name, &want[0], &want[1], &want[3], &want[2]); err != nil {
				t.Fatal(line, err)
			}
			is := got["do_"+name]
			if is[0] != want[0] || is[1] != want[1] || is[3] != want[3] {
				t.Errorf("%s: %d bytes in %d requests and %d failed, want %d in %d and %d", name, is[0], is[1], is[3], want[0], want[1], want[3])
			}
			if is[2] > want[2] || is[2] == 0 {
				t.Errorf("%s: %d ns under way, by the clock around the requests %d", name, is[2], want[2])
			}
		}
		if nop, ok := got["do_nop"]; ok && nop[1] != 0 {
			t.Errorf("a request that moves nothing has %v", nop)
		}
		if !slices.ContainsFunc(whole.Notes, func(note string) bool {
			return strings.Contains(note, "io_uring is used by ") && strings.Contains(note, " uring")
		}) {
			t.Errorf("no note says that the program uses io_uring: %q", whole.Notes)
		}
	}
}

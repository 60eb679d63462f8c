package io_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/io"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

func TestLiveIOIsWhatTheProgramMovedByEverySystemCall(t *testing.T) {
	for _, test := range []struct {
		name     string
		target   func(*perfevent.Command) perfevent.Target
		interval time.Duration
	}{
		{"a command", perfevent.Started, 0},
		{"a command in windows of 20 ms", perfevent.Started, 20 * time.Millisecond},
		{"the whole system", nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			program := livetest.Program(t, "io", "-pthread")
			formats := ioFormats(t)
			var out bytes.Buffer
			var whole *profile.Profile
			var account profile.Account
			testlimit.Lossless(t, func() uint64 {
				out.Reset()
				cmd := exec.Command(program, fmt.Sprint(testlimit.Calls(100)))
				cmd.Stdout = &out
				collector, err := io.New(process.Host{}, formats, io.ByNothing, stack.Stacks{User: true, Unwind: stack.Auto, Copy: 1024})
				if err != nil {
					t.Fatal(err)
				}
				whole, account = livetest.Run(t, cmd, test.target, collector, test.interval)
				return account.Lost
			})
			got := livetest.ByFunction(livetest.Only(whole, program), "do_")
			if len(got) == 0 {
				t.Fatalf("no function of %s is seen in %d rows of the processes %+v; %+v", program, len(whole.Rows), whole.Processes, account)
			}
			for line := range strings.Lines(out.String()) {
				var name string
				var want livetest.Moved
				if _, err := fmt.Sscan(line, &name, &want[0], &want[1], &want[3], &want[2]); err != nil {
					t.Fatal(line, err)
				}
				is := got["do_"+name]
				if formats.Sent == nil && strings.HasSuffix(name, "mmsg") {
					want[0] = 0
				}
				if is[0] != want[0] || is[1] != want[1] || is[3] != want[3] {
					t.Errorf("%s: %d bytes in %d calls and %d failed, want %d in %d and %d", name, is[0], is[1], is[3], want[0], want[1], want[3])
				}
				if is[2] > want[2] || is[2] == 0 {
					t.Errorf("%s: %d ns inside, by the clock around the calls %d", name, is[2], want[2])
				}
				t.Logf("%s: %d ns inside, by the program's clock %d", name, is[2], want[2])
			}
		})
	}
}

// ioFormats are the tracepoints of io.
func ioFormats(t *testing.T) (formats io.Formats) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: system calls of others are watched")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	if formats, err = io.ReadFormats(tracefs); err != nil {
		t.Fatal(err)
	}
	return formats
}

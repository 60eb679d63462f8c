package count_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/count"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/perfevent"
)

func TestLiveOurOwnHitsAreLeftOutOfTheWholeSystems(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracefs and counters of the whole system are root's")
	}
	spec := &probe.Spec{Place: probe.Tracepoint, Probe: "syscalls:sys_enter_getpgid"}
	set, err := probe.Open(spec, probe.Options{Counts: true})
	if errors.As(err, new(*probe.TracepointError)) {
		t.Skip("no tracepoints of system calls (CONFIG_FTRACE_SYSCALLS)")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	const calls = 1000
	for _, leaveOut := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		var hits uint64
		emitted := 0
		err := count.Run(ctx, count.Options{
			Target: perfevent.System(), Set: set, LeaveOutOwn: leaveOut,
			Emitted: func() error { emitted++; return nil },
			Armed: func() error {
				defer cancel()
				for range calls {
					if _, err := unix.Getpgid(0); err != nil {
						return err
					}
				}
				return nil
			},
			Emit: func(of map[string]uint64) error { hits += of["syscalls:sys_enter_getpgid"]; return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if emitted != 1 {
			t.Errorf("the end was told %d times", emitted)
		}
		if own := hits >= calls; own == leaveOut {
			t.Errorf("%d hits, with %d of our own; they are left out: %t", hits, calls, leaveOut)
		}
	}
}

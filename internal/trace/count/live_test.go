package count_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/trace/count"
	"github.com/ringtap/ringtap/perfevent"
)

func TestLiveOurOwnHitsAreLeftOutOfTheWholeSystems(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracefs and counters of the whole system are root's")
	}
	// Tests of other packages make thousands of some calls. Nobody makes this one.
	const call = "syscalls:sys_enter_sched_rr_get_interval"
	spec := &probe.Spec{Place: probe.Tracepoint, Probe: call}
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
					var interval unix.Timespec
					if _, _, errno := unix.Syscall(unix.SYS_SCHED_RR_GET_INTERVAL, 0, uintptr(unsafe.Pointer(&interval)), 0); errno != 0 {
						return errno
					}
				}
				return nil
			},
			Emit: func(of map[string]uint64) error { hits += of[call]; return nil },
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

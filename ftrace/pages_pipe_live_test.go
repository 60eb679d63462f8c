package ftrace

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLiveAPipeIsDrainedUpToATime(t *testing.T) {
	tracefs := liveTracefs(t)
	instance, err := tracefs.NewInstance()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("instances: the kernel has no trace instances")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer instance.Close()
	if err := instance.Write("trace_clock", "mono"); err != nil {
		t.Fatal(err)
	}
	pipe, err := instance.FS().OpenPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	mark := func(text string) {
		t.Helper()
		if err := instance.Write("trace_marker", text); err != nil {
			t.Fatal(err)
		}
	}
	now := func() uint64 {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			t.Fatal(err)
		}
		return uint64(now.Nano())
	}
	var got []string
	drained := func(until uint64) []string {
		t.Helper()
		got = nil
		if err := pipe.DrainUntil(until, func(e, _ *Entry) error {
			for _, text := range []string{"one", "two", "three"} {
				if strings.Contains(string(e.Raw), text) {
					got = append(got, text)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	mark("one")
	first := now()
	mark("two")
	if got := drained(first); !slices.Equal(got, []string{"one"}) {
		t.Errorf("at first %q", got)
	}
	mark("three")
	if got := drained(now()); !slices.Equal(got, []string{"two", "three"}) {
		t.Errorf("then %q", got)
	}
	if got := drained(now()); len(got) > 0 {
		t.Errorf("in the end %q", got)
	}
}

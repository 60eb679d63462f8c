package profiler

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

func TestLiveTheClockStandsInForMissingHardwareCycles(t *testing.T) {
	needRoot(t)
	cycles := &oncpu.Collector{Event: perfevent.CPUCycles(), Frequency: 49}
	want := perfevent.CPUCycles()
	session, err := perfevent.Open(perfevent.Process(os.Getpid()), cycles.Plan().Samplings, perfevent.Options{})
	switch {
	case err == nil:
		closed(t, session)
	case errors.Is(err, perfevent.ErrNoEvent):
		want = perfevent.CPUClock()
	default:
		t.Fatal(err)
	}
	source, notes, err := open(perfevent.Process(os.Getpid()), []table.Collector{cycles}, discard())
	if err != nil {
		t.Fatal(err)
	}
	closed(t, source)
	// Which of the two it is stands in every report; that is no note.
	if cycles.Event != want || cycles.UserOnly || len(notes) > 0 {
		t.Errorf("opened %v, user only: %t, notes %q; want %v and nothing else", cycles.Event, cycles.UserOnly, notes, want)
	}
}

func TestLiveAnOrdinaryUserGetsUserModeAndANote(t *testing.T) {
	needRoot(t)
	paranoid, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(paranoid)) != "2" {
		t.Skip("kernel.perf_event_paranoid: it is not 2, the kernel's default")
	}
	clock := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 49, Stacks: stack.Stacks{Kernel: true}}
	unprivileged(t, func() {
		session, notes, err := open(perfevent.Process(os.Getpid()), []table.Collector{clock}, discard())
		if err != nil {
			t.Error(err)
			return
		}
		closed(t, session)
		if !clock.UserOnly || len(notes) != 1 || !strings.Contains(notes[0], "kernel.perf_event_paranoid is 2") {
			t.Errorf("user only: %t, notes %q; want one that names the setting", clock.UserOnly, notes)
		}
		_, _, err = open(perfevent.System(), []table.Collector{clock}, discard())
		if !errors.Is(err, perfevent.ErrPermission) {
			t.Errorf("the whole system: %v, want %v", err, perfevent.ErrPermission)
		}
	})
}

func TestLiveAnErrorThatNothingCuresIsReturned(t *testing.T) {
	needRoot(t)
	clock := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 49}
	_, _, err := open(perfevent.Process(1<<22), []table.Collector{clock}, discard())
	var open *perfevent.OpenError
	if !errors.As(err, &open) || !errors.Is(err, perfevent.ErrNoTarget) {
		t.Errorf("a process that does not exist: %v, want an OpenError of %v", err, perfevent.ErrNoTarget)
	}
}

func discard() perfevent.Options { return perfevent.Options{Logger: slog.New(slog.DiscardHandler)} }

func closed(t *testing.T, session io.Closer) {
	t.Helper()
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

// unprivileged runs f on a thread without capabilities, which ends with it.
func unprivileged(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData // the kernel takes two of them (capset(2))
		if err := unix.Capset(&header, &none[0]); err != nil {
			t.Errorf("give up capabilities: %v", err)
			return
		}
		f()
	}()
	<-done
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: an ordinary user is refused other things than these tests provoke")
	}
}

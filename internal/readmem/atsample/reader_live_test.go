package atsample

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/runtimes/languages"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

func TestMain(m *testing.M) {
	helper.Serve(map[string]helper.NewVisitor{Visitor: NewVisitors(languages.Detectors())})
	os.Exit(m.Run())
}

// sampling returns a session that samples the whole host as a Reader requires.
func sampling(t *testing.T) *perfevent.Session {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	clock := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 199, WakeupEvents: 1, UserRegs: callchain.Host().UserRegsMask(), ExcludeIdle: true}
	session, err := perfevent.Open(perfevent.System(), []perfevent.Sampling{clock}, perfevent.Options{SharedRings: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// startReading returns a session that samples the whole host, a process table, and a Reader of the session. The
// caller must close the Reader.
func startReading(t *testing.T) (*perfevent.Session, *process.Table, *Reader) {
	t.Helper()
	session, table := sampling(t), process.NewTable(process.Options{})
	t.Cleanup(table.Close)
	return session, table, New(session, 199, nil, slog.New(slog.DiscardHandler))
}

// busy starts an interpreter that uses a CPU, and returns its PID.
func busy(t *testing.T) int {
	t.Helper()
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("perl is not installed")
	}
	cmd := exec.Command("perl", "-e", "$| = 1; print qq(ready\n); while (1) { $x = $x * 3 % 7 }")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, cmd)
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// exactly reads samples until each of the processes has enough of them with exact calls.
func exactly(t *testing.T, session *perfevent.Session, r *Reader, enough int, pids ...int) {
	t.Helper()
	exact := make(map[uint32]int)
	for _, pid := range pids {
		exact[uint32(pid)] = 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	if err := session.Read(ctx, func(record perfevent.Record) error {
		s, ok := record.(*perfevent.Sample)
		if !ok {
			return nil
		}
		if _, watched := exact[s.PID]; !watched {
			return nil
		}
		if c := r.At(s); c.Kind == helper.Exact && len(c.Chains) == 1 && len(c.Chains[0].Calls) > 0 {
			exact[s.PID]++
		}
		for _, n := range exact {
			if n < enough {
				return nil
			}
		}
		cancel()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for pid, n := range exact {
		if n < enough {
			t.Errorf("%d samples of process %d are exact", n, pid)
		}
	}
}

func TestLiveAHelperThatWatchedManyProcessesIsReplaced(t *testing.T) {
	session, table, r := startReading(t)
	r.endedLimit = 0
	helpers := make(map[*helper.Reader]bool)
	watch := func(p *process.Process) {
		r.Watch(p, nil)
		r.Wait()
		helpers[r.child] = true
	}
	first, second := busy(t), busy(t)
	watch(table.Process(first))
	watch(table.Process(second))
	watch(table.Reread(first)) // as if it ran another program: the helper keeps the memory of the first
	exactly(t, session, r, 20, first, second)
	if len(helpers) != 2 {
		t.Errorf("there were %d helpers, want 2", len(helpers))
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// Exit records may be lost, so that the number of processes does not bound the memory.
func TestLiveAHelperAboveItsMemoryLimitIsReplaced(t *testing.T) {
	session, table, r := startReading(t)
	pid := busy(t)
	r.Watch(table.Process(pid), nil)
	r.Wait()
	first := r.child.PID()
	if (process.Host{}).ResidentBytes(first) == 0 {
		t.Fatal("the helper's memory is unknown")
	}
	r.mu.Lock()
	r.memoryLimit = 1
	r.sweptAt = perfevent.Now()
	r.sweep()
	r.memoryLimit = maxHelperBytes
	r.mu.Unlock()
	r.Wait()
	if second := r.child.PID(); second == first || unix.Kill(first, 0) == nil {
		t.Errorf("helper %d still runs; the next one is %d", first, second)
	}
	exactly(t, session, r, 5, pid)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestLiveAProcessThatHasEndedIsNoLongerWatched(t *testing.T) {
	_, table, r := startReading(t)
	r.Watch(table.Process(busy(t)), nil)
	ended := exec.Command("sleep", "60")
	if err := ended.Start(); err != nil {
		t.Fatal(err)
	}
	gone := table.Process(ended.Process.Pid)
	_ = ended.Process.Kill()
	_ = ended.Wait()
	r.Watch(gone, nil)
	r.Wait()
	if len(r.watched) != 1 {
		t.Errorf("%d processes are watched, want 1", len(r.watched))
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestLiveWithoutItsHelperASampleHasNoCalls(t *testing.T) {
	session, table, r := startReading(t)
	pid := busy(t)
	r.Watch(table.Process(pid), nil)
	r.Wait()
	exactly(t, session, r, 1, pid)
	if err := unix.Kill(r.child.PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// At returns as soon as the Reader notices that the helper has ended.
	s := &perfevent.Sample{Header: perfevent.Header{Time: perfevent.Now() + 1e9, PID: uint32(pid), TID: uint32(pid)}}
	if c := r.At(s); c.Kind != helper.None {
		t.Errorf("%+v", c)
	}
	if r.err() == nil {
		t.Error("err does not say why calls are missing")
	}
	if err := r.Close(); err == nil {
		t.Error("Close returns no error for a helper that was killed")
	}
}

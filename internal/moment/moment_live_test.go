package moment

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp/languages"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testlimit"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

func TestMain(m *testing.M) {
	near.Serve(map[string]near.New{Visitor: NewVisitors(languages.Detectors())})
	os.Exit(m.Run())
}

// sampling samples the whole host as a Reader wants it.
func sampling(t *testing.T) *perfevent.Session {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	clock := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 199, Soon: true, UserRegs: callchain.Host().UserRegsMask(), ExcludeIdle: true}
	session, err := perfevent.Open(perfevent.System(), []perfevent.Sampling{clock}, perfevent.Options{Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// startReading returns a Reader of the samples of the whole host, which the caller must close, with
// the session that takes them and a process table.
func startReading(t *testing.T) (*perfevent.Session, *process.Table, *Reader) {
	t.Helper()
	session, table := sampling(t), process.NewTable(process.Options{})
	t.Cleanup(table.Close)
	return session, table, New(session, 199, nil, slog.New(slog.DiscardHandler))
}

// busy starts a program that is busy in an interpreter.
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

// exactly reads samples until each of the processes has so many whose calls are exact.
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
		if c := r.At(s); c.Kind == near.Exact && len(c.Chains) == 1 && len(c.Chains[0].Calls) > 0 {
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

func TestLiveAHelperThatHasTakenMuchMemoryIsFollowedByAnother(t *testing.T) {
	session, table, r := startReading(t)
	r.most = 0
	helpers := make(map[*near.Reader]bool)
	watch := func(p *process.Process) {
		r.Watch(p, nil)
		r.Wait()
		helpers[r.helper] = true
	}
	first, second := busy(t), busy(t)
	watch(table.Process(first))
	watch(table.Process(second))
	watch(table.Reread(first)) // as if it were another program: the helper keeps the memory of one
	exactly(t, session, r, 20, first, second)
	if len(helpers) != 2 {
		t.Errorf("there were %d helpers, want 2", len(helpers))
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// As when exit records are lost, so that nothing else makes room.
func TestLiveAHelperAboveItsMemoryIsFollowedByAnother(t *testing.T) {
	session, table, r := startReading(t)
	pid := busy(t)
	r.Watch(table.Process(pid), nil)
	r.Wait()
	first := r.helper.PID()
	if residentBytes(first) == 0 {
		t.Fatal("the helper's memory is unknown")
	}
	r.mu.Lock()
	r.memory = 1
	r.swept = perfevent.Now()
	r.sweep()
	r.memory = maxHelper
	r.mu.Unlock()
	r.Wait()
	if second := r.helper.PID(); second == first || unix.Kill(first, 0) == nil {
		t.Errorf("helper %d goes on; the next one is %d", first, second)
	}
	exactly(t, session, r, 5, pid)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestLiveAProcessThatHasEndedLeavesItsPlace(t *testing.T) {
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
		t.Errorf("%d processes have a place, want 1", len(r.watched))
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
	if err := unix.Kill(r.helper.PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// At waits no longer than until that is noticed.
	s := &perfevent.Sample{Header: perfevent.Header{Time: perfevent.Now() + 1e9, PID: uint32(pid), TID: uint32(pid)}}
	if c := r.At(s); c.Kind != near.None {
		t.Errorf("%+v", c)
	}
	if r.Err() == nil {
		t.Error("it is not said why calls are missing")
	}
	if err := r.Close(); err == nil {
		t.Error("the helper's end is no error")
	}
}

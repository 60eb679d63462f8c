package near

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// toldVisitor keeps 64 bytes of the processes that it is told of, by pid and address.
type toldVisitor struct {
	of atomic.Pointer[map[uint32]uint64]
}

func newToldVisitor([]byte) (Visitor, error) {
	v := new(toldVisitor)
	v.of.Store(new(map[uint32]uint64))
	return v, nil
}

func (v *toldVisitor) Hear(news []byte) {
	all := make(map[uint32]uint64)
	for pid, addr := range *v.of.Load() {
		all[pid] = addr
	}
	var pid uint32
	var addr uint64
	if _, err := fmt.Sscanf(string(news), "%d %x", &pid, &addr); err == nil {
		all[pid] = addr
	}
	v.of.Store(&all)
}

func (v *toldVisitor) Wants(s *perfevent.Sample) bool { return (*v.of.Load())[s.PID] != 0 }

func (v *toldVisitor) Visit(visit *Visit) error {
	_, err := visit.Load((*v.of.Load())[visit.Sample.PID], 64)
	return err
}

// Each sample that the session reads has one reading, whichever process it is of. Of a sample that
// another one of its CPU follows before it was visited, the witness knows nothing: where the host
// of a guest was busy, the guest's kernel takes several at once.
func TestLiveTheSamplesOfASessionAreVisitedBesideItsReader(t *testing.T) {
	needRoot(t)
	clock := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 199, Soon: true, UserRegs: allRegisters, UserStack: 4096, ExcludeIdle: true}
	session, err := perfevent.Open(perfevent.System(), []perfevent.Sampling{clock}, perfevent.Options{Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	first := startProgram(t, "steady", filepath.Join(t.TempDir(), "notes"))
	var progress atomic.Uint64
	r, err := StartBeside(session, first.cmd.Process.Pid, "told", nil, Options{Share: 0.1, VisitTime: time.Second, Round: progress.Store})
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	second := startProgram(t, "steady", filepath.Join(t.TempDir(), "notes"))
	if err := r.Watch(second.cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*started{first, second} {
		if err := r.Tell(fmt.Appendf(nil, "%d %s", s.cmd.Process.Pid, s.first)); err != nil {
			t.Fatal(err)
		}
	}
	if !r.Heard(testlimit.End) {
		t.Error("the visitors have not heard what they were told")
	}
	type key struct {
		cpu  int
		time uint64
		tid  uint32
	}
	readings, exact := make(map[key]*Reading), make(map[uint32]int)
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	const enough = 200
	done := make(chan error, 1)
	go func() {
		done <- r.Read(ctx, func(reading *Reading) error {
			at := key{reading.CPU, reading.Time, reading.TID}
			if readings[at] != nil {
				t.Errorf("two readings of %v", at)
			}
			if reading.Time < progress.Load() {
				t.Errorf("a reading of %d comes after %d were said to be all", reading.Time, progress.Load())
			}
			readings[at] = reading
			if reading.Verdict.Kind == Exact && len(reading.Data) == 64 {
				exact[reading.PID]++
			}
			if exact[uint32(first.cmd.Process.Pid)] > enough && exact[uint32(second.cmd.Process.Pid)] > enough {
				cancel()
			}
			return nil
		})
	}()
	samples := make(map[key]bool)
	if err := session.Read(ctx, func(record perfevent.Record) error {
		if s, ok := record.(*perfevent.Sample); ok {
			samples[key{int(s.CPU), s.Time, s.TID}] = true
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for at := range readings {
		if !samples[at] {
			t.Errorf("%v was read and not sampled", at)
		}
	}
	overtaken := func(r *Reading) bool {
		for at := range samples {
			if at.cpu == r.CPU && at.time > r.Time && at.time < r.Time+uint64(r.Verdict.Late) {
				return true
			}
		}
		return false
	}
	read, reasons := make(map[uint32]int), make(map[string]int)
	for _, r := range readings {
		if r.Verdict.Kind == Exact || !overtaken(r) {
			read[r.PID]++
			reasons[r.Verdict.Reason.String()]++
		}
	}
	t.Logf("%d samples, %d readings, exact %v, reasons %v", len(samples), len(readings), exact, reasons)
	for _, s := range []*started{first, second} {
		pid := uint32(s.cmd.Process.Pid)
		if exact[pid]*100 < read[pid]*90 {
			t.Errorf("%d of %d readings of process %d are exact", exact[pid], read[pid], pid)
		}
	}
	if err := r.Unwatch(second.cmd.Process.Pid); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if r.Heard(testlimit.End) {
		t.Error("visitors that have ended are said to have heard all")
	}
}

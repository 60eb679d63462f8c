package helper

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// memoryVisitor keeps 64 bytes of each process that it has received a message about. The message
// has the process id and, in hexadecimal, the address.
type memoryVisitor struct {
	addresses atomic.Pointer[map[uint32]uint64]
}

func newMemoryVisitor([]byte) (Visitor, error) {
	v := new(memoryVisitor)
	v.addresses.Store(new(map[uint32]uint64))
	return v, nil
}

func (v *memoryVisitor) Receive(message []byte) {
	all := make(map[uint32]uint64)
	for pid, addr := range *v.addresses.Load() {
		all[pid] = addr
	}
	var pid uint32
	var addr uint64
	if _, err := fmt.Sscanf(string(message), "%d %x", &pid, &addr); err == nil {
		all[pid] = addr
	}
	v.addresses.Store(&all)
}

func (v *memoryVisitor) Accepts(s *perfevent.Sample) bool { return (*v.addresses.Load())[s.PID] != 0 }

func (v *memoryVisitor) Visit(visit *Visit) error {
	_, err := visit.Load((*v.addresses.Load())[visit.Sample.PID], 64)
	return err
}

// Each sample that the session reads has one reading. If another sample of the same CPU follows
// before the visit, the reading cannot be exact. That happens in a guest whose host is busy: the
// guest's kernel takes several samples at the same time.
func TestLiveSamplesOfAFollowedSessionAreVisited(t *testing.T) {
	needRoot(t)
	clock := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 199, WakeupEvents: 1, UserRegs: Registers, UserStack: 4096, ExcludeIdle: true}
	session, err := perfevent.Open(perfevent.System(), []perfevent.Sampling{clock}, perfevent.Options{SharedRings: true})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	first := startProgram(t, "steady", filepath.Join(t.TempDir(), "notes"))
	var progress atomic.Uint64
	r, err := FollowSession(session, first.cmd.Process.Pid, "memory", nil, Options{Share: 0.1, VisitTime: time.Second, Progress: progress.Store})
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
		if err := r.Send(fmt.Appendf(nil, "%d %s", s.cmd.Process.Pid, s.first)); err != nil {
			t.Fatal(err)
		}
	}
	if !r.WaitReceived(testlimit.End) {
		t.Error("the visitors have not received the messages")
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
				t.Errorf("a reading of a sample at %d comes after progress %d", reading.Time, progress.Load())
			}
			readings[at] = reading
			if reading.Certainty == Exact && len(reading.Data) == 64 {
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
			t.Errorf("%v was read but not sampled", at)
		}
	}
	overtaken := func(r *Reading) bool {
		for at := range samples {
			if at.cpu == r.CPU && at.time > r.Time && at.time < r.Time+uint64(r.Late) {
				return true
			}
		}
		return false
	}
	read, reasons := make(map[uint32]int), make(map[string]int)
	for _, r := range readings {
		if r.Certainty == Exact || !overtaken(r) {
			read[r.PID]++
			reasons[r.Reason.String()]++
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
	if r.WaitReceived(testlimit.End) {
		t.Error("WaitReceived returns true after the child has ended")
	}
}

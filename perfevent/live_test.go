package perfevent

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"
)

func TestLiveSystem(t *testing.T) {
	s, err := Open(System(), []Sampling{{Event: CPUClock(), Frequency: 999, Callchain: CallchainMode{true, true}, UserRegs: true, UserStack: 8192}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Enable()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	n := map[string]int{}
	last := uint64(0)
	exec.Command("sh", "-c", "true; ls / >/dev/null").Start()
	go exec.Command("timeout", "1", "sh", "-c", "while :; do :; done").Run()
	err = s.Read(ctx, func(r Record) error {
		n[fmt.Sprintf("%T", r)]++
		if r.Common().Time < last {
			t.Error("order")
		}
		last = r.Common().Time
		return nil
	})
	a, err2 := s.Accounts()
	st, err3 := s.Stats()
	t.Log(n, err, err2, err3)
	t.Logf("%+v %+v", a, st)
}
func TestLiveCommand(t *testing.T) {
	c, err := StartCommand(exec.Command("sh", "-c", "for i in 1 2 3 4 5; do ls / >/dev/null; done; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(Started(c), []Sampling{{Event: Software(SoftwarePageFaults), Period: 1}, {Event: CPUClock(), Frequency: 999}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Enable(); err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	err = s.Read(context.Background(), func(r Record) error {
		n[fmt.Sprintf("%T", r)]++
		return nil
	})
	state, err4 := c.Wait()
	a, err2 := s.Accounts()
	st, err3 := s.Stats()
	t.Log(n, err, err2, err3, state, err4)
	t.Logf("%+v %+v", a, st)
}

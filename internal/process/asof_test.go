package process

import (
	"testing"
	"time"

	"github.com/ringtap/ringtap/perfevent"
)

func executed(pid uint32, at uint64, name string) *perfevent.Comm {
	return &perfevent.Comm{Header: perfevent.Header{PID: pid, TID: pid, Time: at}, PID: pid, TID: pid, Exec: true, Name: []byte(name)}
}

func born(pid, ppid uint32, at uint64) *perfevent.Fork {
	return &perfevent.Fork{Header: perfevent.Header{PID: ppid, TID: ppid, Time: at}, PID: pid, TID: pid, PPID: ppid, PTID: ppid}
}

func TestAPidStandsForTheLifeThatItHadAtATime(t *testing.T) {
	const second = uint64(time.Second)
	table := NewTable(Options{Host: Host{Proc: t.TempDir()}, Keep: 5 * time.Second})
	defer table.Close()
	table.byPID[7] = table.newProcess(7, "shell", 0)
	table.Handle(born(100, 7, 10*second))
	table.Handle(executed(100, 11*second, "first"))
	table.Handle(born(100, 7, 12*second)) // used again
	table.Handle(executed(100, 13*second, "second"))
	for _, test := range []struct {
		at   uint64
		want string
	}{
		{10*second + 1, "shell"}, {11 * second, "first"}, {12*second - 1, "first"}, {12 * second, "shell"},
		{13 * second, "second"}, {20 * second, "second"}, {0, "second"},
	} {
		table.AsOf(test.at)
		if got := table.Process(100).Comm; got != test.want {
			t.Errorf("at %d it is %q, want %q", test.at, got, test.want)
		}
	}
	table.AsOf(0)
	// Five seconds later nothing of it is left.
	table.Handle(executed(7, 30*second, "other"))
	if lives := len(table.lives[100]); lives != 0 {
		t.Errorf("%d former lives are kept", lives)
	}
}

func TestNoFormerLivesAreKeptUnlessAskedFor(t *testing.T) {
	table := NewTable(Options{Host: Host{Proc: t.TempDir()}})
	defer table.Close()
	table.byPID[7] = table.newProcess(7, "shell", 0)
	table.Handle(executed(7, 1, "first"))
	if len(table.lives) != 0 {
		t.Error("there are former lives")
	}
}

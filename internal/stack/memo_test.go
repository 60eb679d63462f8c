package stack

import (
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

func TestAChainIsKnownByTheWordsThatItFollowsFrom(t *testing.T) {
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	t.Cleanup(processes.Close)
	processes.Handle(&perfevent.Fork{Header: perfevent.Header{Time: 1}, PID: 5, TID: 5, PPID: 0, PTID: 0})
	p := processes.Process(5)
	processes.Handle(&perfevent.Mmap{Header: perfevent.Header{Time: 2}, PID: 5, TID: 5, Addr: 1 << 20, Len: 4096, Prot: 5, Filename: []byte("//anon")})
	if p.Version() == 0 {
		t.Fatal("the mappings have no version")
	}
	by := &Stacks{User: true, Unwind: Auto}
	m := newMemo(callchain.Host())
	first := tabletest.StackSample(100, 10, 11, 12, 13)
	if m.find(by, p, first) != nil {
		t.Fatal("an empty memo knows a chain")
	}
	m.keep(by, p, first, []uint32{8, 24}, User{ID: 7, End: callchain.Complete})
	for _, test := range []struct {
		name   string
		sample *perfevent.Sample
		known  bool
	}{
		{"the same", first, true},
		{"words that were not read differ", tabletest.StackSample(100, 99, 11, 98, 13), true},
		{"a word that was read differs", tabletest.StackSample(100, 10, 99, 12, 13), false},
		{"another stack pointer", tabletest.StackSample(101, 10, 11, 12, 13), false},
		{"a shorter copy", tabletest.StackSample(100, 10, 11, 12), false},
		{"it is still there", first, true},
	} {
		if got := m.find(by, p, test.sample); (got != nil) != test.known || got != nil && got.id != 7 {
			t.Errorf("%s: found %v", test.name, got)
		}
	}
	for _, other := range []*Stacks{{User: true, Unwind: DWARF}, {User: true, Unwind: Auto, Entry: true}} {
		if m.find(other, p, first) != nil {
			t.Errorf("a chain that was found otherwise is taken for one of %+v", other)
		}
	}
	m.forget()
	if m.find(by, p, first) != nil {
		t.Error("what was forgotten is known")
	}
}

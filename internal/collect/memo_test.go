package collect

import (
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// stackSample is a sample of a user stack, all of whose registers hold one value.
func stackSample(sp uint64, words ...uint64) *perfevent.Sample {
	mask := callchain.Host().UserRegsMask()
	s := &perfevent.Sample{Regs: perfevent.Registers{ABI: abi64, Mask: mask}}
	for bit := range 64 {
		if mask>>bit&1 != 0 {
			s.Regs.Values = append(s.Regs.Values, sp)
		}
	}
	for _, w := range words {
		s.Stack = binary.LittleEndian.AppendUint64(s.Stack, w)
	}
	return s
}

func TestAChainIsKnownByTheWordsThatItFollowsFrom(t *testing.T) {
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	t.Cleanup(processes.Close)
	processes.Handle(&perfevent.Fork{Header: perfevent.Header{Time: 1}, PID: 5, TID: 5, PPID: 0, PTID: 0})
	p := processes.Process(5)
	processes.Handle(&perfevent.Mmap{Header: perfevent.Header{Time: 2}, PID: 5, TID: 5, Addr: 1 << 20, Len: 4096, Prot: 5, Filename: []byte("//anon")})
	if p.Version() == 0 {
		t.Fatal("the mappings have no version")
	}
	m := newMemo()
	first := stackSample(100, 10, 11, 12, 13)
	if m.find(p, first) != nil {
		t.Fatal("an empty memo knows a chain")
	}
	m.keep(p, first, []uint32{8, 24}, 7, callchain.Complete)
	for _, test := range []struct {
		name   string
		sample *perfevent.Sample
		known  bool
	}{
		{"the same", first, true},
		{"words that were not read differ", stackSample(100, 99, 11, 98, 13), true},
		{"a word that was read differs", stackSample(100, 10, 99, 12, 13), false},
		{"another stack pointer", stackSample(101, 10, 11, 12, 13), false},
		{"a shorter copy", stackSample(100, 10, 11, 12), false},
		{"it is still there", first, true},
	} {
		if got := m.find(p, test.sample); (got != nil) != test.known || got != nil && got.id != 7 {
			t.Errorf("%s: found %v", test.name, got)
		}
	}
	m.forget()
	if m.find(p, first) != nil {
		t.Error("what was forgotten is known")
	}
}

package helper

import (
	"testing"
	"time"

	"github.com/ringtap/ringtap/perfevent"
)

func TestOnlyTheSwitchNextToASampleCounts(t *testing.T) {
	const switches = 1 // the sampling of switches
	sample := func(sampling int, tid uint32) *perfevent.Sample {
		s := sampleOf(nil)
		s.Sampling, s.TID, s.PID, s.Time = sampling, tid, tid, 5
		return s
	}
	in := func(tid uint32) *perfevent.Switch {
		return &perfevent.Switch{Header: perfevent.Header{TID: tid, Time: 6}}
	}
	out := func(tid uint32) *perfevent.Switch {
		return &perfevent.Switch{Header: perfevent.Header{TID: tid, Time: 6}, Out: true}
	}
	const self = 1 << 30 // no thread has this id
	tests := []struct {
		name    string
		records []perfevent.Record
		want    []nextSwitch
	}{
		{"a switch", []perfevent.Record{sample(0, self), sample(switches, self), out(self)}, []nextSwitch{sameRegisters}},
		{"a COMM record in between", []perfevent.Record{sample(0, self), &perfevent.Comm{}, sample(switches, self)}, []nextSwitch{sameRegisters}},
		{"nothing", []perfevent.Record{sample(0, self)}, []nextSwitch{noSwitch}},
		{"another thread's", []perfevent.Record{sample(0, self), sample(switches, self+1)}, []nextSwitch{noSwitch}},
		{"two samples", []perfevent.Record{sample(0, self), sample(0, self), sample(switches, self)}, []nextSwitch{noSwitch, sameRegisters}},
		{"the thread ran again", []perfevent.Record{sample(0, self), in(self), sample(switches, self)}, []nextSwitch{noSwitch}},
		{"lost records", []perfevent.Record{sample(0, self), &perfevent.Lost{Lost: 3}, sample(switches, self)}, []nextSwitch{noSwitch}},
		{"a skipped process", []perfevent.Record{sample(0, 99), sample(switches, 99)}, nil},
	}
	for _, tt := range tests {
		mem := make([]uint64, (ringHeaderSize+1<<16)/8)
		th := thread{setup: &childSetup{SwitchSampling: switches, SkipPIDs: []uint32{99}, Contexts: make([]sampleContext, 2), VisitBytes: 64, VisitTime: time.Second},
			shared: newSharedRing(bytesOf(mem)), clock: newClock(), visitor: stateVisitor{}, class: Unpinned}
		th.visit.clock = th.clock
		for _, r := range tt.records {
			th.handle(r)
		}
		th.finishVisit(noSwitch, 0)
		var got []nextSwitch
		for e, _ := th.shared.next(); e != nil; e, _ = th.shared.next() {
			if e.kind == visitEntry {
				got = append(got, e.next)
			}
			th.shared.release(e)
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
			continue
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s: visit %d: %v, want %v", tt.name, i, got[i], tt.want[i])
			}
		}
	}
}

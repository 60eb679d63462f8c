package atsample

import (
	"math/bits"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/perfevent"
)

// carelessWalker goes on after a read has failed because the time is up.
type carelessWalker struct{ memory *visitMemory }

func (c carelessWalker) Walk(dst []interp.Call, _ *interp.Thread) ([]interp.Call, callchain.End) {
	c.memory.err = helper.ErrTime
	return append(dst, interp.Call{Code: 1}), callchain.Complete
}

func TestAVisitThatTakesTooLongHasNoCalls(t *testing.T) {
	v := &visitor{calls: make([]interp.Call, 0, 8)}
	v.prefetch = interp.NewAhead(&v.memory)
	visit := &helper.Visit{Sample: &perfevent.Sample{Header: perfevent.Header{TID: 1}}}
	if err := v.walk(visit, &visitedProcess{walkers: []walker{{1, carelessWalker{&v.memory}}}}); err != helper.ErrTime {
		t.Errorf("the error is %v, want %v", err, helper.ErrTime)
	}
}

func TestAHelperReadsNoDeepStacksAtSkippedSamplings(t *testing.T) {
	const pid = 7
	list := []stackArea{{0x10000, 0x20000, 0}}
	team := &visitorSet{attached: map[int]*attachedProcess{pid: {stackConfig: stackConfig{areas: list, isDeep: true}}}}
	v := &visitor{set: team}
	team.visitors = []*visitor{v}
	v.processes.Store(&[]visitedProcess{{pid: pid, stackConfig: stackConfig{areas: list, isDeep: true}}})
	deep := func(sampling int) *perfevent.Sample {
		s := &perfevent.Sample{Header: perfevent.Header{PID: pid}, Sampling: sampling, Stack: make([]byte, 64)}
		s.Regs = perfevent.Registers{ABI: 2, Mask: helper.Registers}
		for range bits.OnesCount64(helper.Registers) {
			s.Regs.Values = append(s.Regs.Values, 0x12340) // the stack pointer among them
		}
		return s
	}
	for _, sampling := range []int{5, 1, 5} {
		v.Receive(request{kind: reqSkipSampling, pid: pid, addr: uint64(sampling)}.encode())
	}
	for sampling, want := range []bool{0: true, 1: false, 2: true, 3: true, 4: true, 5: false, 6: true} {
		if v.Accepts(deep(sampling)) != want {
			t.Errorf("sampling %d is read: %t, want %t", sampling, !want, want)
		}
	}
	v.Receive(request{kind: reqForget, pid: pid}.encode())
	if v.Accepts(deep(0)) {
		t.Error("a forgotten process is read")
	}
}

package perfevent

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpeningGivesUpTheNewestFeatureFirst(t *testing.T) {
	s := &Session{format: readFormat}
	steps := []struct {
		err     error
		again   bool
		dropped uint64
		lost    bool // lost counts are still asked for
	}{
		{unix.ENOENT, false, 0, true},
		{unix.EACCES, true, bitNamespaces, true},
		{unix.EPERM, false, bitNamespaces, true},
		{unix.EINVAL, true, bitNamespaces, true}, // keepsContexts
		{unix.EINVAL, true, bitNamespaces, false},
		{unix.EINVAL, true, bitNamespaces | bitCgroup, false},
		{unix.EINVAL, false, bitNamespaces | bitCgroup, false},
	}
	for i, step := range steps {
		again := s.dropFeature(step.err)
		if lost := s.format&unix.PERF_FORMAT_LOST != 0; again != step.again || s.dropped != step.dropped || lost != step.lost {
			t.Errorf("step %d, %v: again %v, dropped %#x, lost counts %v; want %v, %#x, %v", i, step.err,
				again, s.dropped, lost, step.again, step.dropped, step.lost)
		}
	}
}

func TestEventTableFindsIDsFarApart(t *testing.T) {
	for _, ids := range [][]uint64{{7, 8, 9}, {7, 1 << 40, 1<<64 - 1}} {
		infos := []eventInfo{{sampling: 0}, {sampling: 1}, {sampling: sideBand, origin: 4}}
		table := newEventTable(ids, infos)
		for i, id := range ids {
			if got := table.find(id); got == nil || *got != infos[i] {
				t.Errorf("find(%d) of %v = %v, want %v", id, ids, got, infos[i])
			}
		}
		for _, id := range []uint64{0, 6, 10, 1 << 41} {
			if got := table.find(id); got != nil {
				t.Errorf("find(%d) of %v = %v, want nothing", id, ids, got)
			}
		}
	}
	empty := newEventTable(nil, nil)
	if got := empty.find(0); got != nil {
		t.Errorf("an empty table has %v", got)
	}
}

func TestSamplesWithAForeignIDBelongToTheOnlySharedEvent(t *testing.T) {
	clock := Sampling{Event: CPUClock(), Period: 1}
	faults := Sampling{Event: Software(SoftwarePageFaults), Period: 1}
	switches := Sampling{Event: Software(SoftwareContextSwitches), Period: 1}
	tracepoint := Sampling{Event: Tracepoint(1, "a:b"), Period: 1}
	tests := []struct {
		samplings []Sampling
		want      int32
	}{
		{[]Sampling{clock, tracepoint}, -1},
		{[]Sampling{clock, faults}, 1},
		{[]Sampling{switches, clock, faults}, -1},
	}
	for _, tt := range tests {
		s := Session{samplings: tt.samplings}
		s.nameLayouts()
		if got := s.dec.fallback; got != tt.want {
			t.Errorf("a foreign id among %v stands for sampling %d, want %d", tt.samplings, got, tt.want)
		}
	}
}

package perfevent

import (
	"slices"
	"testing"
)

func TestFilterFollowsChildren(t *testing.T) {
	f := newPIDFilter(Process(10), []watched{{pid: 10, tid: 10}}, nil)
	steps := []struct {
		name string
		rec  Record
		want bool
	}{
		{"the target's sample", &Sample{Header: Header{PID: 10, TID: 12}}, true},
		{"another's sample", &Sample{Header: Header{PID: 20, TID: 20}}, false},
		{"another's child", &Fork{PID: 21, PPID: 20, TID: 21, PTID: 20}, false},
		{"the target's thread", &Fork{PID: 10, PPID: 10, TID: 13, PTID: 10}, true},
		{"the target's child", &Fork{PID: 11, PPID: 10, TID: 11, PTID: 10}, true},
		{"the child's mapping", &Mmap{PID: 11}, true},
		{"the child's sample", &Sample{Header: Header{PID: 11, TID: 11}}, true},
		{"the child's child", &Fork{PID: 12, PPID: 11, TID: 12, PTID: 11}, true},
		{"the child's end", &Exit{PID: 11, TID: 11}, true},
		{"the child's number used again by another", &Fork{PID: 11, PPID: 20, TID: 11, PTID: 20}, false},
		{"that other's sample", &Sample{Header: Header{PID: 11, TID: 11}}, false},
		{"another's comm", &Comm{PID: 20}, false},
		{"another's namespaces", &Namespaces{PID: 20}, false},
		{"a switch to the target", &Switch{Header: Header{PID: 20}, OtherPID: 10}, true},
		{"a switch elsewhere", &Switch{Header: Header{PID: 20}, OtherPID: 30}, false},
		{"kernel code", &Ksymbol{}, true},
	}
	for _, s := range steps {
		if got := f.wants(s.rec); got != s.want {
			t.Errorf("%s: wanted is %v", s.name, got)
		}
	}
}

func TestFilterOfAThreadTakesItsSamplesAndItsProcessesRecords(t *testing.T) {
	f := newPIDFilter(Thread(12), []watched{{pid: 10, tid: 12}}, nil)
	steps := []struct {
		rec  Record
		want bool
	}{
		{&Sample{Header: Header{PID: 10, TID: 12}}, true},
		{&Sample{Header: Header{PID: 10, TID: 10}}, false},
		{&Mmap{PID: 10, TID: 10}, true},
		{&Fork{PID: 11, PPID: 10, TID: 11, PTID: 12}, false},
		{&Sample{Header: Header{PID: 11, TID: 11}}, false},
	}
	for _, s := range steps {
		if got := f.wants(s.rec); got != s.want {
			t.Errorf("%+v: wanted is %v", s.rec, got)
		}
	}
}

func TestDuplicatesBindAThreadToItsFirstOrigin(t *testing.T) {
	var d duplicates
	steps := []struct {
		tid    uint32
		time   uint64
		origin int32
		want   bool
	}{
		{5, 100, 1, false}, {5, 101, 2, true}, {5, 110, 1, false}, // inherited and own
		{6, 100, 2, false}, {6, 101, 1, true},
		{7, 100, 1, false}, {7, 100, 1, false}, // one way only
	}
	for i, s := range steps {
		h := Header{TID: s.tid, Time: s.time, ID: uint64(s.origin)}
		if got := d.seen(&h, &eventInfo{origin: s.origin}, false); got != s.want {
			t.Errorf("step %d: thread %d from origin %d is a duplicate: %v", i, s.tid, s.origin, got)
		}
	}
	d.fork(5)
	if d.seen(&Header{TID: 5}, &eventInfo{origin: 2}, false) {
		t.Error("a new thread with an old number is bound to the old one's origin")
	}
}

func TestDuplicatesOfSharedEventsAreKnownByTheirTime(t *testing.T) {
	var d duplicates
	steps := []struct {
		name   string
		tid    uint32
		time   uint64
		origin int32 // -1: another session's id
		want   bool
	}{
		{"first hit", 5, 100, 1, false},
		{"its double", 5, 100, 1, true},
		{"its third", 5, 100, 1, true},
		{"a hit on another CPU, where the other origin comes first", 5, 200, 2, false},
		{"its double", 5, 200, 2, true},
		{"another thread at the same time", 6, 200, 2, false},
		{"a hit with a foreign id", 6, 300, -1, false},
		{"its double", 6, 300, -1, true},
	}
	for _, s := range steps {
		h := Header{TID: s.tid, Time: s.time, ID: uint64(s.origin + 10)}
		ev := &eventInfo{origin: s.origin}
		if s.origin < 0 {
			ev = nil
		}
		if got := d.seen(&h, ev, true); got != s.want {
			t.Errorf("%s: is a duplicate: %v", s.name, got)
		}
	}
	if d.seen(&Header{TID: 5, Time: 201}, &eventInfo{origin: 1}, false) {
		t.Error("a clock's sample is left out, though its origin was the first that was bound")
	}
}

func TestDuplicatesWithSeparateIDsAreNotTakenForShared(t *testing.T) {
	var d duplicates
	for i, want := range []bool{false, true, false, true} {
		h := Header{TID: 5, Time: uint64(i), ID: uint64(i % 2)}
		if got := d.seen(&h, &eventInfo{origin: int32(i % 2)}, true); got != want {
			t.Errorf("sample %d is a duplicate: %v", i, got)
		}
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
		if got := s.dec.shared; got != tt.want {
			t.Errorf("a foreign id among %v stands for sampling %d, want %d", tt.samplings, got, tt.want)
		}
	}
}

func TestParseCPUs(t *testing.T) {
	tests := []struct {
		list string
		want []int
		ok   bool
	}{
		{"0", []int{0}, true},
		{"0-1", []int{0, 1}, true},
		{"0-2,5,7-8", []int{0, 1, 2, 5, 7, 8}, true},
		{"", nil, false},
		{"3-1", nil, false},
		{"0-x", nil, false},
		{"0-99999999", nil, false},
	}
	for _, tt := range tests {
		got, err := parseCPUs(tt.list)
		if (err == nil) != tt.ok || !slices.Equal(got, tt.want) {
			t.Errorf("parseCPUs(%q) = %v, %v", tt.list, got, err)
		}
	}
}

func TestZombiesAreRecognizedWhateverTheirName(t *testing.T) {
	tests := []struct {
		stat string
		want bool
	}{
		{"12 (sh) S 1 2", false},
		{"12 (sh) Z 1 2", true},
		{"12 (a) Z (b) R 1 2", false},
		{"12 (a) S) X 1 2", true},
		{"", true},
		{"12 (sh)", true},
	}
	for _, tt := range tests {
		if got := isZombie([]byte(tt.stat)); got != tt.want {
			t.Errorf("isZombie(%q) = %v", tt.stat, got)
		}
	}
}

package perfevent

import "testing"

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

// A process stays the target's when its parent has ended, and its number does not when
// it has ended itself.
func TestDescentFollowsBirthsAndEnds(t *testing.T) {
	d := newDescent([]watched{{pid: 10, tid: 10, pidfd: -1, ended: true}})
	sample := func(pid uint32, time uint64) *Sample { return &Sample{Header: Header{PID: pid, Time: time}} }
	const second = 1e9
	steps := []struct {
		name   string
		rec    Record
		sample *Sample
		want   bool
	}{
		{"another process", nil, sample(20, 1), false},
		{"the target", nil, sample(10, 1), true},
		{"a child before its birth", nil, sample(11, 1), false},
		{"a child", &Fork{PID: 11, TID: 11, PPID: 10, PTID: 10}, sample(11, 2), true},
		{"a child's thread", &Fork{PID: 11, TID: 12, PPID: 11, PTID: 11}, sample(11, 3), true},
		{"a grandchild", &Fork{PID: 13, TID: 13, PPID: 11, PTID: 12}, sample(13, 4), true},
		{"a child whose first thread has ended", &Exit{Header: Header{Time: 5}, PID: 11, TID: 11, PPID: 10}, sample(11, 2*second), true},
		{"a child's way out", &Exit{Header: Header{Time: 3 * second}, PID: 11, TID: 12, PPID: 10}, sample(11, 3*second+1000), true},
		{"a grandchild whose parent has ended", nil, sample(13, 3*second+1000), true},
		{"another that has the child's number", nil, sample(11, 4*second), false},
		{"a child that has it again", &Fork{PID: 11, TID: 11, PPID: 13, PTID: 13}, sample(11, 4*second), true},
		{"the target's way out", &Exit{Header: Header{Time: 5 * second}, PID: 10, TID: 10, PPID: 1}, sample(10, 5*second+1000), true},
		{"another that has the target's number", nil, sample(10, 6*second), false},
	}
	for _, step := range steps {
		if step.rec != nil {
			d.follow(step.rec)
		}
		if got := d.has(step.sample); got != step.want {
			t.Errorf("%s: %v, want %v", step.name, got, step.want)
		}
	}
}

package perfevent

import "testing"

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

package near

import "time"

// share keeps a thread's use of its CPU below a part of the time. What it did not use it may
// use later, as much as belongs to a second. It is the guard against storms of samples, and
// against whatever else would make the thread run on and on.
type share struct {
	part      float64
	left      int64 // ns of CPU time
	time, cpu uint64
	resting   bool
}

func newShare(part float64, now, cpu uint64) share {
	s := share{part: part, time: now, cpu: cpu}
	s.left = s.most() / 2
	return s
}

// most is what may be saved, in nanoseconds.
func (s *share) most() int64 { return int64(s.part * float64(time.Second)) }

// rests notes how much CPU time the thread has used, and tells whether it must rest: once
// nothing is left, until half of what may be saved is.
func (s *share) rests(now, cpu uint64) bool {
	s.left += int64(s.part*float64(now-s.time)) - int64(cpu-s.cpu)
	s.left = min(s.left, s.most())
	s.time, s.cpu = now, cpu
	if s.left < 0 {
		s.resting = true
	} else if s.left >= s.most()/2 {
		s.resting = false
	}
	return s.resting
}

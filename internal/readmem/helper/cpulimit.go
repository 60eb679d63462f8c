package helper

import "time"

// cpuLimit keeps a thread's CPU time below a share of elapsed time. Time that the thread did
// not use is saved for later, up to one second's worth. The limit protects the host from very
// frequent samples, and from anything else that would keep the thread running.
type cpuLimit struct {
	share     float64 // of elapsed time
	available int64   // CPU time that the thread may still use, in ns; negative if it used too much
	time, cpu uint64  // elapsed time and CPU time at the last update, in ns
	paused    bool
}

// newCPULimit returns a limit with half a second's worth saved. now and cpu are the current
// time and the CPU time that the thread has used, in nanoseconds.
func newCPULimit(share float64, now, cpu uint64) cpuLimit {
	l := cpuLimit{share: share, time: now, cpu: cpu}
	l.available = l.max() / 2
	return l
}

// max returns the most CPU time that can be saved, in nanoseconds.
func (l *cpuLimit) max() int64 { return int64(l.share * float64(time.Second)) }

// update charges the CPU time since the last update, and reports whether the thread must pause.
// A pause begins when no CPU time is available, and ends when half of the maximum is.
func (l *cpuLimit) update(now, cpu uint64) bool {
	l.available += int64(l.share*float64(now-l.time)) - int64(cpu-l.cpu)
	l.available = min(l.available, l.max())
	l.time, l.cpu = now, cpu
	if l.available < 0 {
		l.paused = true
	} else if l.available >= l.max()/2 {
		l.paused = false
	}
	return l.paused
}

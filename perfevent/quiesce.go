package perfevent

import "golang.org/x/sys/unix"

// quiesce waits until each hit of a tracepoint that was under way on one of the CPUs has been
// handled. The kernel handles it with preemption disabled, event by event, and may be interrupted
// between two of them: for as long as it takes to enable some events and to disable others, if
// what the interrupt leads to takes time. Such a hit would be seen by neither. A thread that has
// run on a CPU knows that none is left there.
//
// A CPU that is offline, or that this process may not use, is left out.
func quiesce(cpus []int) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := newRealtime()
		var own unix.CPUSet
		if unix.SchedGetaffinity(0, &own) != nil {
			r.leave()
			return
		}
		for _, cpu := range cpus {
			var one unix.CPUSet
			one.Set(cpu)
			_ = unix.SchedSetaffinity(0, &one)
		}
		if unix.SchedSetaffinity(0, &own) == nil {
			r.leave()
		} // else the thread stays locked and ends here
	}()
	<-done
}

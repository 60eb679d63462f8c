package snapshot

import "testing"

// stackOfFunctions makes a stack of functions and their files of a thread, leaf first. Those with a file are interpreted.
func stackOfFunctions(functions ...[2]string) (frames []Frame) {
	for _, f := range functions {
		frame := Frame{Name: f[0], File: f[1]}
		if frame.File != "" {
			frame.Runtime = "CPython"
		}
		frames = append(frames, frame)
	}
	return frames
}

func TestLocksOfRuntimesAreToldFromOtherWaits(t *testing.T) {
	const threading = "/usr/lib/python3.11/threading.py"
	python := [2]string{"PyThread_acquire_lock_timed", ""}
	for _, test := range []struct {
		name string
		user []Frame
		want Lock
	}{
		{"a Java monitor", stackOfFunctions([2]string{"pthread_cond_wait"}, [2]string{"ObjectMonitor::enter"}, [2]string{"Server.save", "Server.java"}), Lock{Kind: JavaMonitor}},
		{"Object.wait", stackOfFunctions([2]string{"pthread_cond_wait"}, [2]string{"ObjectMonitor::wait"}, [2]string{"Object.wait", "Object.java"}), Lock{}},
		{"a lock of Python", stackOfFunctions(python, [2]string{"acquire_timed"}, [2]string{"save", "/srv/app.py"}), Lock{Kind: "Python lock", Addr: 0x1000}},
		{"Lock.acquire in the library", stackOfFunctions(python, [2]string{"RLock.acquire", threading}), Lock{Kind: "Python lock", Addr: 0x1000}},
		{"Event.wait", stackOfFunctions(python, [2]string{"Condition.wait", threading}), Lock{}},
		{"an idle thread of a pool", stackOfFunctions(python, [2]string{"_worker", "/usr/lib/python3.11/concurrent/futures/thread.py"}), Lock{}},
		{"SimpleQueue.get", stackOfFunctions(python, [2]string{"_queue_SimpleQueue_get_impl"}, [2]string{"take", "/srv/app.py"}), Lock{}},
		{"no lock", stackOfFunctions([2]string{"read"}, [2]string{"main"}), Lock{}},
	} {
		thread := &Thread{User: test.user}
		thread.args[0] = 0x1000
		lock, ok := ownerless(thread)
		if isLock := test.want != (Lock{}); ok != isLock || ok && lock != test.want {
			t.Errorf("%s: %v, %v, want %v", test.name, lock, ok, test.want)
		}
	}
}

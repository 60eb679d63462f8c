package stack

import "github.com/ringtap/ringtap/callchain"

// A Wait says where a thread waits. It was read without a sample.
type Wait struct {
	User []callchain.Frame // leaf first; nil if there is no user stack
	Cut  bool              // User lacks outer frames
	// Kernel has the kernel's functions, leaf first: "do_wait+0x74/0xf0". It is empty if the
	// caller may not read them.
	Kernel []string
	// Until is a time up to which the thread did not run, on the records' clock.
	Until uint64
	// Still reports whether the thread is still in this wait. until is the new value of Until.
	Still func() (until uint64, ok bool)
}

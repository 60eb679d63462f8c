package ftrace_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// A tracepoint is opened by its number. Find gives the tracefs of the running
// kernel; here a copy of some of its files stands for it.
func Example() {
	tracefs := ftrace.At("testdata/tracing")
	id, err := tracefs.EventID("sched", "sched_switch")
	if err != nil {
		log.Fatal(err)
	}
	sampling := perfevent.Sampling{Event: perfevent.Tracepoint(id, "sched:sched_switch"), Period: 1}
	fmt.Println("every", sampling.Event, "is number", id)

	_, err = tracefs.EventID("sched", "sched_swithc")
	fmt.Println("a kernel without it:", errors.Is(err, fs.ErrNotExist))
	// Output:
	// every sched:sched_switch is number 314
	// a kernel without it: true
}

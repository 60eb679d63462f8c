package trace_test

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/trace"
)

// Follow a tracepoint for a second. It takes root.
func Example() {
	set, err := probe.Open(&probe.Spec{Place: probe.Tracepoint, Probe: "sched:sched_process_exec"}, probe.Options{})
	if err != nil {
		log.Print(err)
		return
	}
	defer set.Close()
	account, err := trace.Run(context.Background(), trace.Options{
		Sources:  set.Sources,
		Duration: time.Second,
		Out:      os.Stderr,
	})
	if err != nil {
		log.Print(err)
		return
	}
	log.Printf("%d lines, %d lost", account.Shown, account.All().Lost)
	// Output:
}

package follow_test

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/follow"
	"github.com/ringtap/ringtap/perfevent"
)

// Follow a tracepoint for a second. It takes root.
func Example() {
	fs, err := ftrace.Find()
	if err != nil {
		log.Print(err)
		return
	}
	format, err := fs.Format("sched", "sched_process_exec")
	if err != nil {
		log.Print(err)
		return
	}
	account, err := follow.Run(context.Background(), follow.Options{
		Events: []follow.Event{{
			Event:  perfevent.Tracepoint(uint64(format.ID), "sched:sched_process_exec"),
			Format: format,
		}},
		Duration: time.Second,
		Out:      os.Stderr,
	})
	if err != nil {
		log.Print(err)
		return
	}
	log.Printf("%d lines, %d lost", account.Shown, account.Lost)
	// Output:
}

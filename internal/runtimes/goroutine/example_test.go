package goroutine_test

import (
	"context"
	"fmt"
	"os"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/runtimes/goroutine"
)

// The goroutines of a process, here of this one.
func Example() {
	table := process.NewTable(process.Options{Unwind: true})
	defer table.Close()
	if err := table.Snapshot(os.Getpid()); err != nil {
		fmt.Println(err)
		return
	}
	runtimes, err := goroutine.Find(goroutine.Process{
		PID: os.Getpid(), Space: table.Process(os.Getpid()), Unwinder: callchain.New(callchain.Host()),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	states := make(map[string]int)
	for range 3 {
		go func() { select {} }()
	}
	for states["select (no cases)"] < 3 {
		clear(states)
		err = runtimes[0].Goroutines(context.Background(), func(g *goroutine.Goroutine) bool {
			states[g.State()]++
			return true
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(states["select (no cases)"], "wait for nothing")
	// Output: 3 wait for nothing
}

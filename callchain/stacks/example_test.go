package stacks_test

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/ringtap/ringtap/callchain/stacks"
	"github.com/ringtap/ringtap/perfevent"
)

// A whole profiler: what a process does, as the folded stacks that flame graphs are made
// of, each with the number of its samples, once there are so many.
func profile(ctx context.Context, pid, samples int) map[string]int {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	profiler := stacks.New(stacks.Options{})
	defer profiler.Close()
	sampling := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 999, ExcludeKernel: true}
	profiler.Prepare(&sampling)
	session, err := perfevent.Open(perfevent.Process(pid), []perfevent.Sampling{sampling}, perfevent.Options{})
	check(err)
	defer session.Close()
	check(profiler.Snapshot(pid))
	check(session.Enable())
	counts := make(map[stacks.Stack]int)
	check(session.Read(ctx, func(record perfevent.Record) error {
		profiler.Handle(record)
		if sample, ok := record.(*perfevent.Sample); ok {
			counts[profiler.Sample(sample)]++
			if samples--; samples == 0 {
				enough()
			}
		}
		return nil
	}))
	folded := make(map[string]int)
	for stack, n := range counts {
		folded[profiler.Folded(stack)] += n
	}
	return folded
}

// The example samples its own process.
func Example() {
	go work()
	folded := profile(context.Background(), os.Getpid(), 100)
	hottest := slices.MaxFunc(slices.Collect(maps.Keys(folded)), func(a, b string) int {
		return cmp.Compare(folded[a], folded[b])
	})
	fmt.Println(hottest)
	// Output: stacks.test;runtime.goexit;github.com/ringtap/ringtap/callchain/stacks_test.work
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

//go:noinline
func work() {
	for product := uint64(1); product != 0; {
		product *= 3
	}
}

// A process's code has names without any sample.
func ExampleProcess_Name() {
	s := stacks.New(stacks.Options{})
	defer s.Close()
	self := s.Process(os.Getpid())
	frame, ok := self.Name(uint64(reflect.ValueOf(work).Pointer()))
	fmt.Println(frame.Function, frame.Offset, ok)
	// Output: github.com/ringtap/ringtap/callchain/stacks_test.work 0 true
}

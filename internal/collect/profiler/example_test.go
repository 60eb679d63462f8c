package profiler_test

import (
	"context"
	"fmt"
	"log"
	"os/exec"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// A command is profiled from its first instruction to its end.
func ExampleRun() {
	command, err := perfevent.StartCommand(exec.Command("gzip", "-9", "/tmp/large"))
	if err != nil {
		log.Fatal(err)
	}
	defer command.Kill() // unless Run let it go
	_, err = profiler.Run(context.Background(), profiler.Options{
		Target: perfevent.Started(command),
		Collectors: []table.Collector{&oncpu.Collector{
			Event:     perfevent.CPUCycles(), // or what stands in for it
			Frequency: 99,
			Stacks:    stack.Stacks{User: true, Kernel: true, Unwind: stack.Auto},
		}},
		Memory: 64 << 20,
		Report: func(p *profile.Profile) error {
			for _, row := range p.Rows {
				if row.User != profile.None {
					frames := p.Stacks[row.User].Frames
					fmt.Println(p.Frames[frames[len(frames)-1]].Name, row.Values[0])
				}
			}
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	state, err := command.Wait()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(state)
	// Prints the functions that were sampled and "exit status 0". It is not
	// run with the tests, since it takes a kernel that permits it.
}

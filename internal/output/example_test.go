package output_test

import (
	"fmt"
	"os"
	"time"

	"github.com/ringtap/ringtap/internal/output"
	"github.com/ringtap/ringtap/internal/profile"
)

// small is a profile of one process with one stack.
func small() *profile.Profile {
	return &profile.Profile{
		Collector: "on-cpu",
		Event:     "cpu-clock",
		Start:     time.Date(2024, 4, 10, 8, 53, 55, 0, time.UTC),
		Duration:  time.Second,
		Metrics:   []profile.Metric{{Name: "OnCPUTime", Type: "samples", Unit: "nanoseconds", Scale: 20408163, Running: true}},
		Objects:   []profile.Object{{Path: "[kernel]", Kernel: true}, {Path: "/usr/bin/cat"}},
		Frames: []profile.Frame{
			{Object: 1, Name: "main", Offset: 0x2a},
			{Object: 0, Name: "vfs_read", Offset: 0x9b},
		},
		Stacks:    []profile.Stack{{Frames: []int{0}}, {Frames: []int{1}}},
		Processes: []profile.Process{{PID: 4242, NSPID: 1, TGID: 4242, Comm: "cat", Cgroup: "/user.slice"}},
		Rows:      []profile.Row{{Process: 0, User: 0, Kernel: 1, Values: []uint64{12}}},
		Accounts:  []profile.Account{{Event: "cpu-clock", Received: 12}},
	}
}

func ExampleWriteTables() {
	p := small()
	if err := output.WriteTables(os.Stdout, p, output.TableOptions{Top: 10}); err != nil {
		fmt.Println(err)
	}
	if err := output.WriteSummary(os.Stdout, p, output.TableOptions{Top: 10}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// time:20240410_08_53_55
	// counts:
	// pid	usid	ksid	OnCPUTime/20408163nanoseconds
	// 4242	0	1	12
	// traces:
	// sid	trace
	// 0	main+0x2a
	// 1	vfs_read+0x9b
	// info:
	// pid	NSpid	comm	tgid	cgroup
	// 4242	1	cat	4242	/user.slice
	// Showing 1 of 1 stack (100% of 245 ms on-CPU)
	// hottest functions: 100% vfs_read ([kernel])
	// cpu-clock: 12 samples received
}

func ExampleWriteFolded() {
	if err := output.WriteFolded(os.Stdout, small(), output.FileOptions{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// cat;main;vfs_read_[k] 12
}

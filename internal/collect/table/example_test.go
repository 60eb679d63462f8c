package table_test

import (
	"fmt"
	"log"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Samples become a window of rows for each second. In a run an engine.Engine hands them on.
func Example() {
	// An empty tree in the place of /proc: nothing is known of any process.
	processes := process.NewTable(process.Options{Host: process.Host{Proc: "testdata/none"}})
	defer processes.Close()
	collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 100, Stacks: stack.Stacks{Kernel: true}}
	recorder := table.NewRecorder([]table.Collector{collector}, processes, 0, table.Options{
		Interval: 1e9,
		Memory:   1 << 20,
		Emit: func(w *table.Window) {
			fmt.Printf("from %d to %d ns:\n", w.Start, w.End)
			for _, row := range w.Rows {
				leaf := w.Stacks[row.Kernel].Frames[0]
				fmt.Printf("  process %d at %#x: %d\n", w.Processes[row.Process].PID, leaf.Offset, row.Values[0])
			}
		},
	})
	const contextKernel = ^uint64(127) // PERF_CONTEXT_KERNEL
	for _, sample := range []perfevent.Sample{
		{Header: perfevent.Header{PID: 42, Time: 0.1e9}, Callchain: []uint64{contextKernel, 0xffffffff81000010}},
		{Header: perfevent.Header{PID: 42, Time: 0.2e9}, Callchain: []uint64{contextKernel, 0xffffffff81000010}},
		{Header: perfevent.Header{PID: 43, Time: 0.9e9}, Callchain: []uint64{contextKernel, 0xffffffff81000010}},
		{Header: perfevent.Header{PID: 42, Time: 1.1e9}, Callchain: []uint64{contextKernel, 0xffffffff81000020}},
	} {
		recorder.Advance(sample.Time)
		if err := recorder.Record(&sample); err != nil {
			log.Fatal(err)
		}
	}
	recorder.Finish(2e9)
	// Output:
	// from 0 to 1000000000 ns:
	//   process 42 at 0xffffffff81000010: 2
	//   process 43 at 0xffffffff81000010: 1
	// from 1000000000 to 2000000000 ns:
	//   process 42 at 0xffffffff81000020: 1
}

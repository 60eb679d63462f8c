package table

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
)

// BenchmarkReplay is an hour's profile: four million samples of twenty thousand
// distinct stacks. It reports the most memory that the process had resident.
func BenchmarkReplay(b *testing.B) {
	const samples, distinct, depth = 4_000_000, 20_000, 25
	processes := process.NewTable(process.Options{})
	defer processes.Close()
	chains := chainsOf(processes.Process(os.Getpid()), distinct, depth)
	for b.Loop() {
		r := NewRecorder([]Collector{&counting{stacks: stack.Stacks{User: true, Kernel: true, Unwind: stack.FP}}}, processes, 0, Options{
			Interval: 5 * second, Whole: true, Memory: 256 << 20, Emit: func(*Window) {},
		})
		sample := tabletest.StackSample(0)
		sample.PID = uint32(os.Getpid())
		var early uint64
		for i := range uint64(samples) {
			sample.Time = i * 1_000_000
			sample.Callchain = chains[i*7919%distinct]
			r.Advance(sample.Time)
			if err := r.Record(sample); err != nil {
				b.Fatal(err)
			}
			if i == samples/8 {
				early = residentPeak(b)
			}
		}
		whole := r.Finish(samples * 1_000_000)
		if sum(whole) != samples || len(whole.Rows) != distinct {
			b.Fatalf("%d samples in %d rows", sum(whole), len(whole.Rows))
		}
		peak := max(early, residentPeak(b)) // the kernel counts pages in batches
		b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
		b.ReportMetric(float64(peak-early)/(1<<20), "late-growth-MiB")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/samples, "ns/sample")
}

// chainsOf makes callchains through the code of a process, all of them
// different.
func chainsOf(p *process.Process, distinct, depth int) [][]uint64 {
	code, _ := p.Find(uint64(reflect.ValueOf(chainsOf).Pointer()))
	size := code.End - code.Start
	chains := make([][]uint64, distinct)
	for i := range chains {
		chain := []uint64{callchain.ContextKernel, 0xffffffff81000000 + uint64(i%64), callchain.ContextUser}
		for level := range uint64(depth) {
			chain = append(chain, code.Start+(uint64(i)*31+level*4099)%size)
		}
		chains[i] = chain
	}
	return chains
}

// residentPeak is the most memory that the process has had resident so far, in
// bytes.
func residentPeak(b *testing.B) uint64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib uint64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatal(err)
	}
	return kib << 10
}

package questions

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/perfevent"
)

// blindNaps is how often each CPU is made to go idle and on, for nap each time.
const (
	blindNaps = 12
	nap       = 2 * time.Millisecond
)

// BlindCPUs returns the CPUs on which switches from the idle task are not seen. The
// kernel makes no records where RCU does not watch, and on some machines that is the
// idle task of all CPUs but the first (seen on Linux 6.18 in a virtual machine that
// was restored from a snapshot). It takes a twentieth of a second. A CPU too busy
// to go idle meanwhile is taken for blind.
func BlindCPUs(format *ftrace.Format) ([]int, error) {
	samplings := make([]perfevent.Sampling, 2)
	for i, filter := range []string{"next_pid == 0", "prev_pid == 0"} {
		samplings[i] = perfevent.Sampling{Event: perfevent.Tracepoint(uint64(format.ID), "sched:sched_switch"), Period: 1, Filter: filter}
	}
	source, err := run.Open(perfevent.System(), samplings, perfevent.Options{RingBytes: 256 << 10, SideBand: perfevent.SideBandNames})
	if err != nil {
		return nil, fmt.Errorf("check whether idle CPUs are traced: %w", err)
	}
	defer source.Close()
	engine, err := run.New(source, run.Options{NoProcesses: true})
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	if err := source.Enable(); err != nil {
		return nil, err
	}
	var idle unix.CPUSet
	if err := unix.SchedGetaffinity(0, &idle); err != nil {
		return nil, fmt.Errorf("list the CPUs: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		napOn(&idle)
		cancel()
	}()
	var seen idleSwitches
	if err := engine.Run(ctx, &seen); err != nil {
		return nil, err
	}
	blind := []int{}
	cpus, err := perfevent.OnlineCPUs()
	if err != nil {
		return nil, err
	}
	for _, cpu := range cpus {
		if cpu >= len(seen) || seen[cpu][1] < max(1, seen[cpu][0]/2) {
			blind = append(blind, cpu)
		}
	}
	return blind, nil
}

// idleSwitches is a sink that counts, by CPU, how often it was seen to go idle and on.
type idleSwitches [len(unix.CPUSet{}) * 64][2]int

// Record counts a switch.
func (e *idleSwitches) Record(record perfevent.Record) error {
	if s, ok := record.(*perfevent.Sample); ok && int(s.CPU) < len(e) {
		e[s.CPU][s.Sampling]++
	}
	return nil
}

// napOn has a thread on each CPU sleep and wake.
func napOn(cpus *unix.CPUSet) {
	var wait sync.WaitGroup
	for cpu := range len(cpus) * 64 {
		if !cpus.IsSet(cpu) {
			continue
		}
		wait.Go(func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with its affinity
			var one unix.CPUSet
			one.Set(cpu)
			if unix.SchedSetaffinity(0, &one) != nil {
				return // it went offline
			}
			for range blindNaps {
				rest := unix.NsecToTimespec(int64(nap))
				_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &rest, nil) // shorter is as good
			}
		})
	}
	wait.Wait()
}

package collect

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/perfevent"
)

// blindNaps is how often each CPU goes idle and wakes up, nap long each time.
const (
	blindNaps = 12
	nap       = 2 * time.Millisecond
)

// BlindCPUs returns the CPUs whose switches from the idle task the kernel does not record. The
// kernel records nothing while RCU does not watch. On some machines that is true in the idle task
// of all CPUs but the first. It was seen on Linux 6.18, in a virtual machine restored from a
// snapshot. The check takes 50 ms. A CPU that is too busy to go idle meanwhile counts as blind.
func BlindCPUs(format *ftrace.Format) ([]int, error) {
	samplings := make([]perfevent.Sampling, 2)
	for i, filter := range []string{"next_pid == 0", "prev_pid == 0"} {
		samplings[i] = perfevent.Sampling{Event: perfevent.Tracepoint(uint64(format.ID), "sched:sched_switch"), Period: 1, Filter: filter}
	}
	source, err := engine.Open(perfevent.System(), samplings, perfevent.Options{RingBytes: 256 << 10, SideBand: perfevent.SideBandNames})
	if err != nil {
		return nil, fmt.Errorf("check whether idle CPUs are traced: %w", err)
	}
	defer source.Close()
	e, err := engine.Start(context.Background(), source, engine.Options{NoProcesses: true})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if err := e.Enable(); err != nil {
		return nil, err
	}
	var idle unix.CPUSet
	if err := unix.SchedGetaffinity(0, &idle); err != nil {
		return nil, fmt.Errorf("list the CPUs: %w", err)
	}
	go func() {
		napOn(&idle)
		e.End()
	}()
	var seen idleSwitches
	if err := e.Run(&seen); err != nil {
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

// idleSwitches is a sink that counts, by CPU, switches to the idle task and from it.
type idleSwitches [len(unix.CPUSet{}) * 64][2]int

// Record counts a switch.
func (e *idleSwitches) Record(record perfevent.Record) error {
	if s, ok := record.(*perfevent.Sample); ok && int(s.CPU) < len(e) {
		e[s.CPU][s.Sampling]++
	}
	return nil
}

// napOn makes a thread on each CPU sleep and wake up.
func napOn(cpus *unix.CPUSet) {
	var wait sync.WaitGroup
	for cpu := range len(cpus) * 64 {
		if !cpus.IsSet(cpu) {
			continue
		}
		wait.Go(func() {
			runtime.LockOSThread() // never unlocked: the thread ends, so that its affinity does not matter
			var one unix.CPUSet
			one.Set(cpu)
			if unix.SchedSetaffinity(0, &one) != nil {
				return // the CPU went offline
			}
			for range blindNaps {
				rest := unix.NsecToTimespec(int64(nap))
				_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &rest, nil) // a shorter nap does as well
			}
		})
	}
	wait.Wait()
}

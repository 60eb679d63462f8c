package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// threeRounds calls f three times and returns the median of each quantity.
func threeRounds(f func() (quantities, error)) (quantities, error) {
	each := map[string][]float64{}
	for range 3 {
		one, err := f()
		if err != nil {
			return nil, err
		}
		for quantity, value := range one {
			each[quantity] = append(each[quantity], value)
		}
	}
	medians := quantities{}
	for quantity, values := range each {
		medians[quantity] = median(values)
	}
	return medians, nil
}

// mallocFree measures the nanoseconds that one malloc and one free take together.
func mallocFree(ctx context.Context, t *turn) (quantities, error) {
	if t.running == nil {
		if err := t.program.await(ctx, false); err != nil {
			return nil, err
		}
	}
	return threeRounds(func() (quantities, error) {
		took, err := t.program.run(max(1, t.hits/max(1, t.tool.slower)))
		return quantities{"": took}, err
	})
}

// fullSpeed returns an operation that calls malloc and free times * --hits times in one round.
func fullSpeed(times int) operation {
	return func(_ context.Context, t *turn) (quantities, error) {
		_, err := t.program.run(times * t.hits)
		return quantities{"calls": float64(times * t.hits)}, err
	}
}

// readZero measures the nanoseconds that one read takes: the thread's CPU time, and the
// elapsed time.
func readZero(_ context.Context, t *turn) (quantities, error) {
	return threeRounds(func() (quantities, error) {
		own, elapsed, err := t.program.read(t.hits)
		return quantities{"": own, "elapsed": elapsed, "calls": float64(3 * t.hits)}, err
	})
}

// ticking makes the program call a64l every 100 µs, from the start of the tool until half a
// second after its probe appears. No other program calls a64l.
func ticking(ctx context.Context, t *turn) (quantities, error) {
	if err := t.program.say("tick"); err != nil {
		return nil, err
	}
	calls, err := t.program.ticks(t.running)
	if err != nil {
		return nil, err
	}
	return quantities{"calls": float64(calls)}, t.settle(ctx) // the tool prints hits with a delay
}

// timed is a command line that prints how many seconds it took.
type timed struct {
	line, pattern string  // pattern finds the seconds in its output
	unit          float64 // converts these seconds to the time of one operation, in the unit of the table
}

// The lines in which perf bench and dd(1) print the seconds.
const (
	perfBenchSeconds = `Total time: ([0-9.]+) \[sec\]`
	ddSeconds        = `copied, ([0-9.e+-]+) s`
)

// measure runs the line and returns elapsed time and CPU time. CPU time does not depend on what
// else the machine does.
func (d timed) measure(ctx context.Context, t *turn) (quantities, error) {
	r, err := t.run(ctx, d.line)
	if err != nil {
		return nil, err
	}
	elapsed, err := d.elapsed(r)
	return quantities{"": elapsed, "CPU": r.cpu.Seconds() * d.unit}, err
}

func (d timed) elapsed(r result) (float64, error) {
	seconds, err := firstNumber(slices.Concat(r.stdout, r.stderr), regexp.MustCompile(d.pattern))
	return seconds * d.unit, err
}

// beyond returns the time that a tool adds to the line, which the tool has started itself.
func (d timed) beyond(_ context.Context, t *turn) (float64, error) {
	with, err := d.elapsed(t.result)
	return with - t.base[""], err
}

// transaction measures the microseconds per transaction with four clients: the inverse of
// the rate of all of them together.
func transaction(ctx context.Context, t *turn) (quantities, error) {
	r, err := t.run(ctx, "runuser -u postgres -- $pgbench -h $socket -n -S -c 4 -T 5 postgres")
	if err != nil {
		return nil, err
	}
	rate, err := firstNumber(r.stdout, regexp.MustCompile(`tps = ([0-9.]+)`))
	return quantities{"": 1e6 / rate}, err
}

// oneCount measures the nanoseconds of CPU time that the process takes to count by one. It
// measures until the tool ends or, without a tool, for two seconds.
func oneCount(ctx context.Context, t *turn) (quantities, error) {
	var count, used [2]float64
	for i := range count {
		switch {
		case i == 0:
		case t.running != nil:
			<-t.running.done.Done()
		default:
			if err := pause(ctx, 2*time.Second); err != nil {
				return nil, err
			}
		}
		if err := t.program.say(""); err != nil {
			return nil, err
		}
		line, err := t.program.answer()
		if err != nil {
			return nil, err
		}
		if _, err = fmt.Sscan(line, &count[i], &used[i]); err != nil {
			return nil, err
		}
	}
	return quantities{"": (used[1] - used[0]) / (count[1] - count[0])}, nil
}

// functionsArmed measures how many kernel functions are traced. Under a tool, it counts the
// functions that the tool added, and measures the seconds from the tool's start until the last
// one. A function is the last if no other follows for five seconds. The function polls every
// 200 ms, so as not to disturb the tool.
func functionsArmed(ctx context.Context, t *turn) (quantities, error) {
	functions, armed := 0, t.began
	if t.running == nil {
		n, err := t.patched("")
		return quantities{"functions": float64(n)}, err
	}
	err := poll(ctx, 5*time.Minute, 200*time.Millisecond, func() (bool, error) {
		now := monotonic()
		n, err := t.patched("")
		if n -= int(t.base["functions"]); n > functions {
			functions, armed = n, now
		}
		if t.running.done.Err() != nil {
			err = fmt.Errorf("it has ended with %d functions armed", functions)
		}
		return functions > 0 && now-armed > 5*time.Second, err
	}, "functions have come to be traced for five minutes")
	return quantities{"functions": float64(functions), "armed": (armed - t.began).Seconds()}, err
}

// patched counts the kernel functions that call a tracer or a probe at their entry,
// whichever tool set it. It counts functions with this name, or all if function is "".
// It reads the kernel's own list.
func (s *session) patched(function string) (n int, err error) {
	text, err := os.ReadFile(filepath.Join(s.vars["tracefs"], "enabled_functions"))
	for line := range strings.Lines(string(text)) {
		if name, _, _ := strings.Cut(line, " "); function == "" || name == function {
			n++
		}
	}
	return n, err
}

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

// threeRounds are the medians of three rounds.
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

// mallocFree is a round of calls of malloc and free: the nanoseconds of one of each.
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

// fullSpeed is so many times --hits calls of malloc and free in one round.
func fullSpeed(times int) operation {
	return func(_ context.Context, t *turn) (quantities, error) {
		_, err := t.program.run(times * t.hits)
		return quantities{"calls": float64(times * t.hits)}, err
	}
}

// readZero is a round of reads: the nanoseconds of one of the thread's own time, and of
// elapsed time.
func readZero(_ context.Context, t *turn) (quantities, error) {
	return threeRounds(func() (quantities, error) {
		own, elapsed, err := t.program.read(t.hits)
		return quantities{"": own, "elapsed": elapsed, "calls": float64(3 * t.hits)}, err
	})
}

// ticking has the program call a64l every 100 µs from the start of the tool until half a
// second after its probe has come. Nobody else calls that.
func ticking(ctx context.Context, t *turn) (quantities, error) {
	if err := t.program.say("tick"); err != nil {
		return nil, err
	}
	calls, err := t.program.ticks(t.running)
	if err != nil {
		return nil, err
	}
	return quantities{"calls": float64(calls)}, t.settle(ctx) // its output comes later than its hits
}

// timed is a command line that says how many seconds it took.
type timed struct {
	line, pattern string
	unit          float64 // of a second, for one of the operations of the line
}

// What perf bench and dd(1) say of it.
const (
	perfBenchSeconds = `Total time: ([0-9.]+) \[sec\]`
	ddSeconds        = `copied, ([0-9.e+-]+) s`
)

// measure is the operation: elapsed time, and CPU time, in which there is nothing of what
// a busy machine does meanwhile.
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

// beyond is what a tool that has started the line adds.
func (d timed) beyond(_ context.Context, t *turn) (float64, error) {
	with, err := d.elapsed(t.result)
	return with - t.base[""], err
}

// transaction is the microseconds that a transaction of four clients takes of the
// server's time: what they all do in a second, turned round.
func transaction(ctx context.Context, t *turn) (quantities, error) {
	r, err := t.run(ctx, "runuser -u postgres -- $pgbench -h $socket -n -S -c 4 -T 5 postgres")
	if err != nil {
		return nil, err
	}
	rate, err := firstNumber(r.stdout, regexp.MustCompile(`tps = ([0-9.]+)`))
	return quantities{"": 1e6 / rate}, err
}

// oneCount is the nanoseconds of CPU time that the process takes to count one: for two
// seconds, or until the tool ends.
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

// functionsArmed is the number of functions of the kernel that are traced. Under a tool
// it is how many have come, and the seconds until none more came, as nearly as one may
// ask without being in the way: none has for five seconds.
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

// patched counts the functions of the kernel that call a tracer or a probe at
// their entry, of this name or, with "", of any: the kernel's own list, whichever
// tool set them.
func (s *session) patched(function string) (n int, err error) {
	text, err := os.ReadFile(filepath.Join(s.vars["tracefs"], "enabled_functions"))
	for line := range strings.Lines(string(text)) {
		if name, _, _ := strings.Cut(line, " "); function == "" || name == function {
			n++
		}
	}
	return n, err
}

package functrace

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/trace"
)

// CountOptions configures Count.
type CountOptions struct {
	Functions []string      // see Options
	PIDs      []int         // only these processes, their threads and children; nil: all but ringtap
	Duration  time.Duration // 0: until the context is done or the target has ended
	Interval  time.Duration // between two calls of Emit; 0: one call, at the end
	Logger    *slog.Logger  // nil discards
	// Armed, unless nil, is called when counting starts. functions is how many functions match.
	Armed func(functions int) error
	// Emit gets the calls of each interval by function, and may keep the map. Its error ends the
	// run.
	Emit func(calls map[string]uint64) error
}

// countBuffer bounds the size of all CPUs' buffers together, in KiB; cpuBuffer bounds one.
const (
	countBuffer = 128 << 10
	cpuBuffer   = 8 << 10
)

// Count counts calls by the function tracer. The tracer records every call in a buffer of ringtap's
// own, and ringtap counts the records. The kernel arms any number of functions in one step. Errors
// are those of Run.
func Count(ctx context.Context, top *ftrace.FS, o CountOptions) (account Account, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	words, err := filterWords(o.Functions)
	if err != nil {
		return Account{}, err
	}
	c := &counter{functions: newFunctions(trace.Printing(top, o.Logger)), counts: map[uint64]uint64{}}
	if err := c.format(top); err != nil {
		return Account{}, err
	}
	r := &run{Options: Options{Kind: Calls, PIDs: o.PIDs, Logger: o.Logger, Out: io.Discard}, names: newNames(top, process.Host{}), printer: c}
	if r.tracing, err = openTracing(top, Calls.tracer(), false); err != nil {
		return Account{}, err
	}
	defer func() {
		if closeErr := r.close(); closeErr != nil {
			err = errors.Join(err, closeErr)
		}
	}()
	// Every CPU of the host has a buffer, even if ringtap may not run on it.
	cpus, _ := filepath.Glob(filepath.Join(r.tracing.fs().Dir(), "per_cpu", "cpu[0-9]*"))
	size := min(cpuBuffer, max(countBuffer/max(len(cpus), 1), 1<<10))
	if err := r.tracing.set("buffer_size_kb", strconv.Itoa(size)); err != nil {
		o.Logger.Info("the trace buffer stays as it is", "error", err)
	}
	if err := r.arm(words); err != nil {
		return Account{}, err
	}
	if o.Armed != nil {
		if err := o.Armed(r.chosen()); err != nil {
			return Account{}, err
		}
	}
	return r.count(ctx, c, o)
}

// chosen returns the number of functions in the filter.
func (r *run) chosen() int {
	text, err := readFile(r.tracing.fs(), "set_ftrace_filter")
	if err != nil {
		return 0
	}
	lines := 1
	for _, b := range []byte(text) {
		if b == '\n' {
			lines++
		}
	}
	return lines
}

// count emits counts until the end.
func (r *run) count(ctx context.Context, c *counter, o CountOptions) (Account, error) {
	emit := func() error { return o.Emit(c.take()) }
	loop := engine.Loop{Duration: o.Duration, Interval: o.Interval, Read: r.read, Emit: emit, Ended: r.ended}
	if err := loop.Run(ctx); err != nil {
		return r.account, err
	}
	account, err := r.finish()
	return account, errors.Join(err, emit())
}

// counter counts records of calls. It is a printer without output.
type counter struct {
	functions *functions
	call      int // ID of the records
	function  *ftrace.Field
	counts    map[uint64]uint64 // by address
	// The last function and its recent calls, which are not in counts yet. A function is often
	// called many times in a row.
	last  uint64
	times uint64
}

// format finds the fields of the records.
func (c *counter) format(top *ftrace.FS) error {
	calls, err := newCalls(top, nil, nil, false)
	if err != nil {
		return err
	}
	c.call, c.function = calls.call, calls.function
	return nil
}

func (c *counter) header(string) string { return "" }

// append counts a record.
func (c *counter) append(dst []byte, e, _ *ftrace.Entry) ([]byte, bool) {
	if e.Type() != c.call {
		return dst, false
	}
	function, ok := c.function.Uint(e.Raw)
	if !ok {
		return dst, false
	}
	if function != c.last {
		c.settle()
		c.last = function
	}
	c.times++
	return dst, true
}

func (c *counter) settle() {
	if c.times > 0 {
		c.counts[c.last] += c.times
	}
	c.times = 0
}

// take returns the calls since the last take, by name. Functions with the same name count together,
// as in the kernel's own profile.
func (c *counter) take() map[string]uint64 {
	c.settle()
	calls := make(map[string]uint64, len(c.counts))
	for addr, n := range c.counts {
		calls[c.functions.name(addr)] += n
	}
	clear(c.counts)
	return calls
}

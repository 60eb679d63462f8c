package functrace

import (
	"fmt"
	"strconv"
)

// arm makes all settings. It sets the filter before the tracer; otherwise the tracer would patch
// all functions of the kernel.
func (r *run) arm(words []string) error {
	// Nothing is recorded until everything is set.
	steps := []func() error{
		func() error { return r.tracing.set("tracing_on", "0") },
		func() error { return r.choose(words) },
		func() error { return r.findStarts(words) },
		func() error { return r.tracing.setThreads(r.PIDs, r.TID) },
		r.setGraph,
		r.start,
		r.open,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// choose sets which functions are traced. A graph needs all functions, because it shows what the
// chosen ones call. With depth 1, the chosen ones are enough.
func (r *run) choose(words []string) error {
	if r.Kind != Graph || r.Graph.Depth == 1 {
		if err := r.tracing.setFunctions(words); err != nil {
			return err
		}
	} else if r.tracing.instance == nil { // someone else's filter, with Force
		if err := r.tracing.set("set_ftrace_filter", ""); err != nil {
			return err
		}
	}
	if r.Kind == Calls || r.tracing.instance != nil && (r.Kind == Slower || r.Graph.Depth == 1) {
		return nil
	}
	return r.tracing.setStart(words)
}

// findStarts tells the printer where graphs start. It runs after the kernel has accepted the
// functions.
func (r *run) findStarts(words []string) (err error) {
	if g, ok := r.printer.(*graph); ok && r.Kind == Graph && r.Graph.Depth != 1 {
		g.starts, err = startsOf(words)
	}
	return err
}

func (r *run) setGraph() error {
	if r.Kind == Calls {
		return nil
	}
	if r.Kind == Slower || r.tracing.instance == nil {
		usecs := strconv.FormatInt(r.Graph.Threshold.Microseconds(), 10)
		if err := r.tracing.setGlobal("tracing_thresh", usecs); err != nil {
			return err
		}
	}
	if r.Graph.Depth > 0 || r.tracing.instance == nil {
		if err := r.tracing.setGlobal("max_graph_depth", strconv.Itoa(r.Graph.Depth)); err != nil {
			return err
		}
	}
	options := []struct{ name, value string }{{"sleep-time", "1"}, {"funcgraph-irqs", "1"}}
	if r.Graph.OnCPU {
		options[0].value = "0"
	}
	if r.Graph.SkipInterrupts {
		options[1].value = "0"
	}
	for _, option := range options {
		if err := r.tracing.setOption(option.name, option.value); err != nil {
			return fmt.Errorf("option %s of the function_graph tracer: %w", option.name, err)
		}
	}
	return nil
}

// start sets the tracer.
func (r *run) start() error {
	if r.Kind != Calls {
		return r.tracing.start(r.Kind.tracer())
	}
	stacks := "0"
	if r.Stacks {
		stacks = "1"
	}
	return r.tracing.startWith("func_stack_trace", stacks, r.Kind.tracer())
}

// open opens the trace buffer and starts recording.
func (r *run) open() error {
	header, err := r.tracing.fs().TraceHeader()
	if err != nil {
		return err
	}
	header = r.printer.header(header)
	if r.TID == 0 && !r.tracing.fs().Has("set_ftrace_notrace_pid") {
		r.own = map[int]bool{}
	}
	if r.pipe, err = r.tracing.fs().OpenPipe(); err != nil {
		return err
	}
	if err := r.tracing.set("tracing_on", "1"); err != nil {
		return err
	}
	if r.Armed != nil {
		r.Armed(header)
	}
	return nil
}

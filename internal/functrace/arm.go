package functrace

import (
	"fmt"
	"strconv"
)

// arm sets everything, the filter before the tracer, which would patch all
// functions of the kernel else.
func (r *run) arm(words []string) error {
	// Nothing is recorded before all is set.
	steps := []func() error{
		func() error { return r.room.set("tracing_on", "0") },
		func() error { return r.choose(words) },
		func() error { return r.findStarts(words) },
		func() error { return r.room.setThreads(r.PID, r.TID) },
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

// choose sets which functions are traced. A graph needs all of them, to see
// what its own call, unless it shows no more than those.
func (r *run) choose(words []string) error {
	if r.Kind != Graph || r.Graph.Depth == 1 {
		if err := r.room.setFunctions(words); err != nil {
			return err
		}
	} else if r.room.instance == nil { // someone's, if Force was given
		if err := r.room.set("set_ftrace_filter", ""); err != nil {
			return err
		}
	}
	if r.Kind == Calls || r.room.instance != nil && (r.Kind == Slower || r.Graph.Depth == 1) {
		return nil
	}
	return r.room.setStart(words)
}

// findStarts tells the printer where a graph begins, once the kernel has said
// that there are such functions.
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
	if r.Kind == Slower || r.room.instance == nil {
		usecs := strconv.FormatInt(r.Graph.Threshold.Microseconds(), 10)
		if err := r.room.setGlobal("tracing_thresh", usecs); err != nil {
			return err
		}
	}
	if r.Graph.Depth > 0 || r.room.instance == nil {
		if err := r.room.setGlobal("max_graph_depth", strconv.Itoa(r.Graph.Depth)); err != nil {
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
		if err := r.room.setOption(option.name, option.value); err != nil {
			return fmt.Errorf("option %s of the function_graph tracer: %w", option.name, err)
		}
	}
	return nil
}

// start sets the tracer.
func (r *run) start() error {
	if r.Kind != Calls {
		return r.room.start(r.Kind.tracer())
	}
	stacks := "0"
	if r.Stacks {
		stacks = "1"
	}
	return r.room.startWith("func_stack_trace", stacks, r.Kind.tracer())
}

// open opens the trace buffer and begins to record.
func (r *run) open() error {
	header, err := r.room.fs().TraceHeader()
	if err != nil {
		return err
	}
	header = r.printer.header(header)
	if r.TID == 0 && !r.room.fs().Has("set_ftrace_notrace_pid") {
		r.own = map[int]bool{}
	}
	if r.pipe, err = r.room.fs().OpenPipe(); err != nil {
		return err
	}
	if err := r.room.set("tracing_on", "1"); err != nil {
		return err
	}
	if r.Armed != nil {
		r.Armed(header)
	}
	return nil
}

package functrace

import (
	"fmt"

	"github.com/ringtap/ringtap/ftrace"
)

// graph prints the function_graph tracer's records as trace_pipe does
// (kernel/trace/trace_functions_graph.c).
type graph struct {
	names     *names
	functions *functions
	options   GraphOptions

	entry, exit             int // numbers of the records
	entryFunc, entryDepth   *ftrace.Field
	exitFunc, exitDepth     *ftrace.Field
	exitCalled, exitReturns *ftrace.Field

	irqStart, irqEnd uint64 // where interrupts are entered
	cpuDigits        int    // of the highest CPU number
	cpus             map[int]*graphCPU

	starts starts       // the functions that a graph begins at; empty if those are all there are
	strays map[int]bool // see isStray
}

// graphCPU is what is known of the calls on a CPU.
type graphCPU struct {
	pid      int         // that the last line was of; -1 before the first
	depthIRQ int         // of the interrupt that is passed over; -1 if in none
	open     [50]uint64  // the function that was entered at each depth
	skip     *graphShown // the end of a call that is printed already
}

type graphShown struct {
	time uint64
	pid  int
}

// call is what a record says.
type call struct {
	pid      int
	function uint64
	depth    int
	duration uint64 // of an end
}

func newGraph(top *ftrace.FS, names *names, functions *functions, options GraphOptions) (*graph, error) {
	g := &graph{names: names, functions: functions, options: options,
		cpus: map[int]*graphCPU{}, strays: map[int]bool{}}
	entry, err := top.Format("ftrace", "funcgraph_entry")
	if err != nil {
		return nil, err
	}
	exit, err := top.Format("ftrace", "funcgraph_exit")
	if err != nil {
		return nil, err
	}
	g.entry, g.exit = entry.ID, exit.ID
	g.entryFunc, g.entryDepth = entry.Field("func"), entry.Field("depth")
	g.exitFunc, g.exitDepth = exit.Field("func"), exit.Field("depth")
	g.exitCalled, g.exitReturns = exit.Field("calltime"), exit.Field("rettime")
	for _, f := range []*ftrace.Field{g.entryFunc, g.entryDepth, g.exitFunc, g.exitDepth, g.exitCalled, g.exitReturns} {
		if f == nil {
			return nil, fmt.Errorf("this kernel's records of calls are unknown to ringtap: %+v, %+v", entry.Fields, exit.Fields)
		}
	}
	g.irqStart, g.irqEnd = interruptEntries()
	g.cpuDigits = cpuDigits()
	return g, nil
}

// header are the lines that name the columns, which depend on our options and
// not on the kernel's.
func (g *graph) header(string) string {
	first, second := "#", "#"
	add := func(a, b string) { first, second = first+a, second+b }
	if g.options.Time {
		add("     TIME       ", "      |         ")
	}
	add(" CPU", " |  ")
	if g.options.Task {
		add("  TASK/PID       ", "   |    |        ")
	}
	if g.options.Duration {
		add("  DURATION   ", "   |   |      ")
	}
	add("               FUNCTION CALLS", "               |   |   |   |")
	return "# tracer: function_graph\n#\n" + first + "\n" + second + "\n"
}

// append appends what a record stands for: a line, some, or none. next is the
// record after it on its CPU, if there is one yet.
func (g *graph) append(dst []byte, e, next *ftrace.Entry) (lines []byte, shown bool) {
	cpu := g.cpus[e.CPU]
	if cpu == nil {
		cpu = &graphCPU{pid: -1, depthIRQ: -1}
		g.cpus[e.CPU] = cpu
	}
	if cpu.skip != nil {
		skip := *cpu.skip
		cpu.skip = nil
		if e.Type() == g.exit && e.Time == skip.time && e.PID() == skip.pid {
			return dst, true
		}
	}
	switch e.Type() {
	case g.entry:
		if c := g.parseEntry(e); !g.isStray(e, &c, true) {
			return g.appendEntry(dst, cpu, e, c, next)
		}
	case g.exit:
		if c := g.parseExit(e); !g.isStray(e, &c, false) {
			return g.appendExit(dst, cpu, e, c)
		}
	}
	return dst, false
}

func (g *graph) parseEntry(e *ftrace.Entry) call {
	function, _ := g.entryFunc.Uint(e.Raw)
	depth, _ := g.entryDepth.Int(e.Raw)
	return call{pid: e.PID(), function: function, depth: bound(depth)}
}

func (g *graph) parseExit(e *ftrace.Entry) call {
	function, _ := g.exitFunc.Uint(e.Raw)
	depth, _ := g.exitDepth.Int(e.Raw)
	from, _ := g.exitCalled.Uint(e.Raw)
	to, _ := g.exitReturns.Uint(e.Raw)
	return call{pid: e.PID(), function: function, depth: bound(depth), duration: to - from}
}

// bound keeps depths that make no sense out of sizes.
func bound(depth int64) int { return int(min(max(depth, 0), 1000)) }

func (g *graph) appendEntry(dst []byte, cpu *graphCPU, e *ftrace.Entry, c call, next *ftrace.Entry) ([]byte, bool) {
	if g.passOver(cpu, c) {
		return dst, false
	}
	dst = g.appendSwitch(dst, cpu, e)
	dst = g.appendInterrupt(dst, e, c.function, "==========>")
	dst = g.appendColumns(dst, e)
	if next != nil && next.Lost == 0 && next.Type() == g.exit && next.PID() == c.pid {
		if end := g.parseExit(next); end.function == c.function {
			cpu.skip = &graphShown{next.Time, c.pid}
			cpu.set(c.depth, 0)
			dst = g.appendDuration(dst, end.duration)
			dst = appendIndent(dst, c.depth)
			dst = append(dst, g.functions.withModule(c.function)...)
			dst = append(dst, "();\n"...)
			return g.appendInterrupt(dst, e, c.function, "<=========="), true
		}
	}
	cpu.set(c.depth, c.function)
	if g.options.Duration {
		dst = append(dst, "              |  "...)
	}
	dst = appendIndent(dst, c.depth)
	dst = append(dst, g.functions.withModule(c.function)...)
	return append(dst, "() {\n"...), true
}

func (g *graph) appendExit(dst []byte, cpu *graphCPU, e *ftrace.Entry, c call) ([]byte, bool) {
	if cpu.depthIRQ >= 0 {
		if cpu.depthIRQ >= c.depth {
			cpu.depthIRQ = -1
		}
		return dst, false
	}
	begun := c.depth >= len(cpu.open) || cpu.open[c.depth] == c.function
	cpu.set(c.depth, 0)
	dst = g.appendSwitch(dst, cpu, e)
	dst = g.appendColumns(dst, e)
	dst = g.appendDuration(dst, c.duration)
	dst = appendIndent(dst, c.depth)
	if begun && !g.options.Tail {
		dst = append(dst, "}\n"...)
	} else {
		dst = append(dst, "} /* "...)
		dst = append(dst, g.functions.withModule(c.function)...)
		dst = append(dst, " */\n"...)
	}
	return g.appendInterrupt(dst, e, c.function, "<=========="), true
}

func (c *graphCPU) set(depth int, function uint64) {
	if depth < len(c.open) {
		c.open[depth] = function
	}
}

// passOver tells whether a call is in an interrupt that is not to be seen. The
// kernel has left most of them out already.
func (g *graph) passOver(cpu *graphCPU, c call) bool {
	switch {
	case !g.options.SkipInterrupts:
		return false
	case cpu.depthIRQ >= 0:
		return true
	case c.function < g.irqStart || c.function >= g.irqEnd:
		return false
	}
	cpu.depthIRQ = c.depth
	return true
}

package functrace

import (
	"fmt"

	"github.com/ringtap/ringtap/ftrace"
)

// graph prints records of the function_graph tracer as trace_pipe does
// (kernel/trace/trace_functions_graph.c).
type graph struct {
	names     *names
	functions *functions
	options   GraphOptions

	entry, exit             int // IDs of the records
	entryFunc, entryDepth   *ftrace.Field
	exitFunc, exitDepth     *ftrace.Field
	exitCalled, exitReturns *ftrace.Field

	irqStart, irqEnd uint64 // code range of interrupt entries
	cpuDigits        int    // width of the highest CPU number
	cpus             map[int]*graphCPU

	starts      starts       // functions at which graphs start; empty if unknown or if all are shown
	unrequested map[int]bool // see isUnrequested
}

// graphCPU is what is known about the calls on a CPU.
type graphCPU struct {
	pid      int         // of the previous line; -1 before the first
	depthIRQ int         // of the interrupt that is left out; -1 if in none
	open     [50]uint64  // function entered at each depth
	skip     *graphShown // end of a call that was already printed
}

type graphShown struct {
	time uint64
	pid  int
}

// call is the content of a record.
type call struct {
	pid      int
	function uint64
	depth    int
	duration uint64 // of a record of an end
}

func newGraph(top *ftrace.FS, names *names, functions *functions, options GraphOptions) (*graph, error) {
	g := &graph{names: names, functions: functions, options: options,
		cpus: map[int]*graphCPU{}, unrequested: map[int]bool{}}
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

// header returns the lines that name the columns. They depend on GraphOptions, not on the kernel's
// options.
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

// append appends the lines of a record, possibly none. next is the following record on the same
// CPU, or nil if it was not read yet.
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
		if c := g.parseEntry(e); !g.isUnrequested(e, &c, true) {
			return g.appendEntry(dst, cpu, e, c, next)
		}
	case g.exit:
		if c := g.parseExit(e); !g.isUnrequested(e, &c, false) {
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

// bound limits depths that make no sense, because they become sizes.
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

// passOver reports whether a call is in an interrupt that is left out. The kernel leaves out most
// of them itself.
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

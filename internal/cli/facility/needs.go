package facility

import "slices"

// Need is something that ringtap needs to do, and the facilities that it can use for that.
type Need struct {
	what      string
	choices   []Choice // best first
	otherwise string   // what ringtap does if none is present
	spare     bool     // ringtap does not use the choices: other facilities serve as well
}

// Choice is one facility.
type Choice struct {
	facility string
	err      error // why it is missing; nil if it is present
}

// used returns the index of the choice that ringtap uses, or len(n.choices) if none is present.
func (n *Need) used() int {
	for i := range n.choices {
		if n.choices[i].err == nil {
			return i
		}
	}
	return len(n.choices)
}

// Needs examines the running kernel with the privileges of the caller.
func Needs() []Need {
	h := newHost()
	return slices.Concat(
		[]Need{{what: "kernel", choices: []Choice{{h.release(), nil}}}},
		h.sampling(), h.userProbes(), h.kernelProbes(), h.functionTools(), h.rest(),
	)
}

const anError = "an error"

func (h *host) sampling() []Need {
	return []Need{
		{what: "the whole system", otherwise: "own processes only", choices: []Choice{
			{"system-wide events", h.wholeSystem()},
		}},
		{what: "the kernel's part", otherwise: "user mode only", choices: []Choice{
			{"kernel samples", h.kernelSamples()},
		}},
		{what: "CPU samples", otherwise: anError, choices: []Choice{
			{"hardware cycles", h.opens(cycles())},
			{"cpu-clock", h.opens(clock())},
		}},
		{what: "cache counters", otherwise: anError, choices: []Choice{
			{"hardware cache events", h.opens(cacheMisses())},
		}},
		{what: "user stacks", otherwise: "none", choices: []Choice{
			{".eh_frame, copied stack", h.opens(stackCopy())},
			{"frame pointers", h.opens(userChain())},
		}},
		{what: "kernel symbols", otherwise: "bare addresses", choices: []Choice{
			{"kallsyms", h.kallsyms()},
		}},
		{what: "one control group", otherwise: anError, choices: []Choice{
			{"perf_event controller", h.cgroups()},
		}},
		{what: "lost records by event", otherwise: "by ring", choices: []Choice{
			{"Linux 6.0", h.since(6, 0)},
		}},
	}
}

func (h *host) userProbes() []Need {
	return []Need{
		{what: "user function", otherwise: anError, choices: []Choice{
			{"uprobe PMU", h.pmu("uprobe")},
			{"uprobe_events", h.tracefs("uprobe_events")},
		}},
		{what: "user function, arguments", otherwise: "an error that names the option", choices: []Choice{
			{"uprobe_events", h.tracefs("uprobe_events")},
		}},
	}
}

func (h *host) kernelProbes() []Need {
	breakpoint := h.kernelBreakpoint()
	return []Need{
		{what: "kernel function", otherwise: "tracepoints (ringtap tpoint)", choices: []Choice{
			{"kprobe PMU", h.pmu("kprobe")},
			{"kprobe_events", h.tracefs("kprobe_events")},
			{"ftrace:function event", h.functionEvent()},
			{"execution breakpoint", breakpoint},
		}},
		{what: "kernel function, arguments", otherwise: "tracepoints (ringtap tpoint)", choices: []Choice{
			{"kprobe_events", h.tracefs("kprobe_events")},
			{"execution breakpoint", breakpoint},
		}},
		{what: "kernel structures", otherwise: "registers and offsets", choices: []Choice{
			{"BTF", readable(h.path("sys/kernel/btf/vmlinux"))},
		}},
		{what: "many places, one event", otherwise: "an event each", choices: []Choice{
			{"dynamic events (5.4)", h.addsPlaces()},
		}},
		{what: "other kernel events", otherwise: "not needed", spare: true, choices: []Choice{
			{"event probes", h.eventProbes()},
			{"fprobe events", h.inReadme("f[:[<group>/]")},
		}},
	}
}

func (h *host) functionTools() []Need {
	return []Need{
		{what: "kernel calls", otherwise: anError, choices: []Choice{
			{"function tracer", h.tracer("function")},
		}},
		{what: "kernel call graphs", otherwise: anError, choices: []Choice{
			{"graph tracer, private", h.privateGraph()},
			{"graph tracer, shared", h.tracer("function_graph")},
		}},
		{what: "counts of kernel calls", otherwise: anError, choices: []Choice{
			{"ftrace:function event", h.functionEvent()},
			{"function profiler", h.tracefs("function_profile_enabled")},
			{"kprobe_events", h.tracefs("kprobe_events")},
		}},
		{what: "histograms", otherwise: "made of records", choices: []Choice{
			{"hist triggers", h.tracefs("events/sched/sched_switch/hist")},
		}},
		{what: "durations", otherwise: "pairs of records", choices: []Choice{
			{"synthetic events", h.tracefs("synthetic_events")},
		}},
	}
}

func (h *host) rest() []Need {
	return []Need{
		{what: "tracepoints", otherwise: anError, choices: []Choice{
			{"tracefs", h.tracefs("events")},
		}},
		{what: "texts of system calls", otherwise: "addresses", choices: []Choice{
			{"the tracepoint itself", h.syscallStrings()},
			{"kprobe_events", h.tracefs("kprobe_events")},
			{"the process's memory", readable(h.proc().Self("mem"))},
		}},
		{what: "pressure triggers", otherwise: "an error: boot with psi=1", choices: []Choice{
			{"/proc/pressure", readable(h.proc().Name("pressure/cpu"))},
		}},
	}
}

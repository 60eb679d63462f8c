package facility

import "slices"

// Need is something that ringtap needs to do, and the facilities that serve it.
type Need struct {
	What      string
	Choices   []Choice // best first
	Otherwise string   // what is done where none is there
	Spare     bool     // what is there is not used: it would serve no better than others
}

// Choice is one facility.
type Choice struct {
	Facility string
	Err      error // why it is not there; nil if it is
}

// Used is the index of the choice that is used, len(n.Choices) if there is none.
func (n *Need) Used() int {
	for i := range n.Choices {
		if n.Choices[i].Err == nil {
			return i
		}
	}
	return len(n.Choices)
}

// Needs probes the running kernel, with the privileges of the caller.
func Needs() []Need {
	h := newHost()
	return slices.Concat(
		[]Need{{What: "kernel", Choices: []Choice{{h.release(), nil}}}},
		h.sampling(), h.userProbes(), h.kernelProbes(), h.functionTools(), h.rest(),
	)
}

const anError = "an error"

func (h *host) sampling() []Need {
	return []Need{
		{What: "the whole system", Otherwise: "own processes only", Choices: []Choice{
			{"system-wide events", h.wholeSystem()},
		}},
		{What: "the kernel's part", Otherwise: "user mode only", Choices: []Choice{
			{"kernel samples", h.kernelSamples()},
		}},
		{What: "CPU samples", Otherwise: anError, Choices: []Choice{
			{"hardware cycles", h.opens(cycles())},
			{"cpu-clock", h.opens(clock())},
		}},
		{What: "cache counters", Otherwise: anError, Choices: []Choice{
			{"hardware cache events", h.opens(cacheMisses())},
		}},
		{What: "user stacks", Otherwise: "none", Choices: []Choice{
			{".eh_frame, copied stack", h.opens(stackCopy())},
			{"frame pointers", h.opens(userChain())},
		}},
		{What: "kernel symbols", Otherwise: "bare addresses", Choices: []Choice{
			{"kallsyms", h.kallsyms()},
		}},
		{What: "one control group", Otherwise: anError, Choices: []Choice{
			{"perf_event controller", h.cgroups()},
		}},
		{What: "lost records by event", Otherwise: "by ring", Choices: []Choice{
			{"Linux 6.0", h.since(6, 0)},
		}},
	}
}

func (h *host) userProbes() []Need {
	return []Need{
		{What: "user function", Otherwise: anError, Choices: []Choice{
			{"uprobe PMU", h.pmu("uprobe")},
			{"uprobe_events", h.tracefs("uprobe_events")},
		}},
		{What: "user function, arguments", Otherwise: "an error that names the option", Choices: []Choice{
			{"uprobe_events", h.tracefs("uprobe_events")},
		}},
	}
}

func (h *host) kernelProbes() []Need {
	breakpoint := h.kernelBreakpoint()
	return []Need{
		{What: "kernel function", Otherwise: "tracepoints (ringtap tpoint)", Choices: []Choice{
			{"kprobe PMU", h.pmu("kprobe")},
			{"kprobe_events", h.tracefs("kprobe_events")},
			{"ftrace:function event", h.functionEvent()},
			{"execution breakpoint", breakpoint},
		}},
		{What: "kernel function, arguments", Otherwise: "tracepoints (ringtap tpoint)", Choices: []Choice{
			{"kprobe_events", h.tracefs("kprobe_events")},
			{"execution breakpoint", breakpoint},
		}},
		{What: "kernel structures", Otherwise: "registers and offsets", Choices: []Choice{
			{"BTF", h.readable("sys/kernel/btf/vmlinux")},
		}},
		{What: "many places, one event", Otherwise: "an event each", Choices: []Choice{
			{"dynamic events (5.4)", h.addsPlaces()},
		}},
		{What: "other kernel events", Otherwise: "not needed", Spare: true, Choices: []Choice{
			{"event probes", h.eventProbes()},
			{"fprobe events", h.inReadme("f[:[<group>/]")},
		}},
	}
}

func (h *host) functionTools() []Need {
	return []Need{
		{What: "kernel calls", Otherwise: anError, Choices: []Choice{
			{"function tracer", h.tracer("function")},
		}},
		{What: "kernel call graphs", Otherwise: anError, Choices: []Choice{
			{"graph tracer, private", h.privateGraph()},
			{"graph tracer, shared", h.tracer("function_graph")},
		}},
		{What: "counts of kernel calls", Otherwise: anError, Choices: []Choice{
			{"ftrace:function event", h.functionEvent()},
			{"function profiler", h.tracefs("function_profile_enabled")},
			{"kprobe_events", h.tracefs("kprobe_events")},
		}},
		{What: "histograms", Otherwise: "made of records", Choices: []Choice{
			{"hist triggers", h.tracefs("events/sched/sched_switch/hist")},
		}},
		{What: "durations", Otherwise: "pairs of records", Choices: []Choice{
			{"synthetic events", h.tracefs("synthetic_events")},
		}},
	}
}

func (h *host) rest() []Need {
	return []Need{
		{What: "tracepoints", Otherwise: anError, Choices: []Choice{
			{"tracefs", h.tracefs("events")},
		}},
		{What: "texts of system calls", Otherwise: "addresses", Choices: []Choice{
			{"the tracepoint itself", h.syscallStrings()},
			{"kprobe_events", h.tracefs("kprobe_events")},
			{"the process's memory", h.readable("proc/self/mem")},
		}},
		{What: "pressure triggers", Otherwise: "an error: boot with psi=1", Choices: []Choice{
			{"/proc/pressure", h.readable("proc/pressure/cpu")},
		}},
	}
}

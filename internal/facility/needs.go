package facility

// Need is something that ringtap needs to do, and the facilities that serve it.
type Need struct {
	What      string
	Choices   []Choice // best first
	Otherwise string   // what is done where none is there
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
	return []Need{
		{
			What: "the whole system",
			Choices: []Choice{
				{"system-wide events", h.wholeSystem()},
			},
			Otherwise: "own processes only",
		}, {
			What: "the kernel's part",
			Choices: []Choice{
				{"kernel samples", h.kernelSamples()},
			},
			Otherwise: "user mode only",
		}, {
			What: "CPU samples",
			Choices: []Choice{
				{"hardware cycles", h.opens(cycles())},
				{"cpu-clock", h.opens(clock())},
			},
			Otherwise: "an error",
		}, {
			What: "cache counters",
			Choices: []Choice{
				{"hardware cache events", h.opens(cacheMisses())},
			},
			Otherwise: "an error: this machine shows none",
		}, {
			What: "user stacks",
			Choices: []Choice{
				{".eh_frame on the copied stack", h.opens(stackCopy())},
				{"frame pointers", h.opens(userChain())},
			},
			Otherwise: "none",
		}, {
			What: "kernel symbols",
			Choices: []Choice{
				{"kallsyms", h.kallsyms()},
			},
			Otherwise: "bare addresses",
		}, {
			What: "one control group",
			Choices: []Choice{
				{"perf_event controller", h.cgroups()},
			},
			Otherwise: "an error",
		}, {
			What: "tracepoints",
			Choices: []Choice{
				{"tracefs", h.tracefs("events")},
			},
			Otherwise: "an error",
		}, {
			What: "user function, no arguments",
			Choices: []Choice{
				{"uprobe PMU", h.pmu("uprobe")},
				{"uprobe_events", h.tracefs("uprobe_events")},
			},
			Otherwise: "an error",
		}, {
			What: "user function with arguments",
			Choices: []Choice{
				{"uprobe_events", h.tracefs("uprobe_events")},
			},
			Otherwise: "an error that names the option",
		}, {
			What: "kernel function, no arguments",
			Choices: []Choice{
				{"kprobe PMU", h.pmu("kprobe")},
				{"kprobe_events", h.tracefs("kprobe_events")},
				{"ftrace:function event", h.functionEvent()},
				{"execution breakpoint", h.pmu("breakpoint")},
			},
			Otherwise: "an error",
		}, {
			What: "kernel function with arguments",
			Choices: []Choice{
				{"kprobe_events", h.tracefs("kprobe_events")},
				{"registers of an execution breakpoint", h.pmu("breakpoint")},
			},
			Otherwise: "an error",
		}, {
			What: "fields of kernel structures",
			Choices: []Choice{
				{"BTF", h.readable("sys/kernel/btf/vmlinux")},
			},
			Otherwise: "registers and offsets",
		}, {
			What: "strings behind system-call pointers",
			Choices: []Choice{
				{"the tracepoint itself", h.syscallStrings()},
				{"event probe", h.eventProbes()},
				{"kprobe_events", h.tracefs("kprobe_events")},
				{"the process's memory, read at once", h.readable("proc/self/mem")},
			},
			Otherwise: "addresses",
		}, {
			What: "pressure triggers",
			Choices: []Choice{
				{"/proc/pressure", h.readable("proc/pressure/cpu")},
			},
			Otherwise: "an error: psi=1 on the kernel's command line",
		},
	}
}

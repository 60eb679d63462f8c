package facility

// A Feature is a feature of bpftrace's language or of its probes, by the name that `bpftrace
// --info` gives it.
type Feature struct {
	Name string
	Has  bool
}

// Features returns what programs of bpftrace's language can rely on with this ringtap on this
// kernel. Several of bpftrace's features are helpers of BPF: Has reports whether programs that
// need the helper get the same result here.
func Features() (helpers, kernel, probes, build []Feature) {
	h := newHost()
	kprobes := h.pmu("kprobe") == nil || h.tracefs("kprobe_events") == nil
	uprobes := h.pmu("uprobe") == nil || h.tracefs("uprobe_events") == nil
	types := readable(h.path("sys/kernel/btf/vmlinux")) == nil
	kernelMemory := readable(h.proc().Name("kcore")) == nil || kprobes
	helpers = []Feature{
		{"dpath", false}, // path() works at iterators only
		{"get_tai_ns", true},
		{"get_func_ip", true},
		{"lookup_percpu_elem", true}, // maps have one value, which every CPU updates
		{"loop", true},
		{"probe_read_kernel", kernelMemory},
		{"send_signal", true},
		{"skboutput", false},
		{"jiffies64", false},
	}
	kernel = []Feature{
		{"Loop support", true},
		{"btf", types},
		{"module btf", types},
	}
	probes = []Feature{
		{"kprobe_multi", kprobes},
		{"uprobe_multi", uprobes},
		{"kprobe_session", false},
		{"fentry", kprobes && types},
		{"iter", true},
	}
	build = []Feature{
		{"libdw (DWARF support)", true},
		{"bcc library path resolution", true},
		{"blazesym (advanced symbolization)", true},
		{"dwunwind (DWARF stack unwinding)", true},
	}
	return helpers, kernel, probes, build
}

package facility

import (
	"os"
	"slices"
	"strings"
)

// State is how much of a command works.
type State int

// The states of commands.
const (
	Works State = iota
	InPart
	Fails
)

func (s State) String() string {
	return [...]string{"works", "works in part", "does not work"}[s]
}

// Verdict says how much of a command works on this host with these privileges.
type Verdict struct {
	command string
	state   State
	why     string // what is missing; "" if nothing is
	do      string // what to do about it
}

// requirement is a need of a command.
type requirement struct {
	need  string // Need.what
	limit string // what remains without it; "" if the command does not work then
	do    string // what to do without it
}

const asRoot = "run as root, or profile your own process with -p PID"

var (
	needsSamples     = requirement{"CPU samples", "", "use a kernel with CONFIG_PERF_EVENTS"}
	needsSystem      = requirement{"the whole system", "own processes only", asRoot}
	needsKernelPart  = requirement{"the kernel's part", "no kernel stacks", "run as root"}
	needsTracepoints = requirement{"tracepoints", "", "use a kernel with tracefs"}
	needsUserProbes  = requirement{"user function", "", "use a kernel with CONFIG_UPROBE_EVENTS"}
	needsArguments   = requirement{"user function, arguments", "", "use a kernel with CONFIG_UPROBE_EVENTS"}
)

// commands lists the needs of each command.
var commands = []struct {
	name  string
	needs []requirement
}{
	{"on-cpu", []requirement{needsSamples, needsSystem, needsKernelPart}},
	{"off-cpu", []requirement{needsSamples, needsSystem, needsKernelPart, {"tracepoints", "no --wakers", "run as root"}}},
	{"memleak", []requirement{needsArguments, {"tracepoints", "user memory only, no -k", "run as root"}}},
	{"io", []requirement{needsTracepoints}},
	{"readahead", []requirement{needsTracepoints, {"kernel function, arguments", "kernels with their own tracepoints for readahead only", "use a kernel with CONFIG_KPROBE_EVENTS"}}},
	{"llc", []requirement{{"cache counters", "", "use a machine whose CPU counters are visible; ringtap on-cpu works without"}}},
	{"probe", []requirement{needsUserProbes, needsSystem, {"kernel function", "user functions, USDT and tracepoints only", "use tracepoints: t:SYSTEM:EVENT"}}},
	{"uprobe", []requirement{needsUserProbes, {"user function, arguments", "no arguments", "run as root"}}},
	{"kprobe", []requirement{{"kernel function", "", "use ringtap tpoint, or a kernel with CONFIG_KPROBE_EVENTS"}, {"kernel structures", "no parameters by name", "use $arg1 and so on"}}},
	{"tpoint", []requirement{needsTracepoints}},
	{"functrace", []requirement{{"kernel calls", "", "use ringtap tpoint, or a kernel with CONFIG_FUNCTION_TRACER"}}},
	{"funcgraph", []requirement{{"kernel call graphs", "", "use a kernel with CONFIG_FUNCTION_GRAPH_TRACER"}}},
	{"funcslower", []requirement{{"kernel call graphs", "", "use a kernel with CONFIG_FUNCTION_GRAPH_TRACER"}}},
	{"funccount", []requirement{needsUserProbes, {"tracepoints", "user functions only", "run as root"}, {"counts of kernel calls", "user functions and tracepoints only", "count tracepoints: t:SYSTEM:PATTERN"}}},
	{"hist", []requirement{needsUserProbes, {"kernel function", "user functions and tracepoints only", "measure tracepoints: SYSTEM:EVENT FIELD"}}},
	{"stack", []requirement{{"the kernel's part", "own processes only", "run as root for the processes of others"}}},
}

// Privilege says what an ordinary user who lacks the privilege for a command can do: "Run as
// root, or …". Commands that Verdicts does not list need root.
func Privilege(command string) string {
	for _, c := range commands {
		if c.name == command && slices.Contains(c.needs, needsSystem) {
			return strings.ToUpper(asRoot[:1]) + asRoot[1:]
		}
	}
	return "Run as root"
}

// Verdicts judges every command by the needs of Needs.
func Verdicts(needs []Need) []Verdict { return judge(needs, os.Geteuid() == 0) }

func judge(needs []Need, root bool) []Verdict {
	var verdicts []Verdict
	for _, c := range commands {
		v := Verdict{command: c.name}
		var why, do []string
		for _, r := range c.needs {
			i := slices.IndexFunc(needs, func(n Need) bool { return n.what == r.need })
			if i < 0 || needs[i].used() < len(needs[i].choices) {
				continue
			}
			reason := missing(&needs[i])
			text, advice := r.need+": "+reason, r.do
			if denied := strings.Contains(reason, os.ErrPermission.Error()); denied && !root && r.need != needsSystem.need {
				text, advice = "needs root", "run as root"
			}
			if r.limit == "" {
				v.state, why, do = Fails, nil, nil
			} else {
				v.state, text = max(v.state, InPart), r.limit
			}
			why, do = append(why, text), append(do, advice)
			if v.state == Fails {
				break
			}
		}
		v.why, v.do = strings.Join(why, "; "), strings.Join(distinct(do), "; ")
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// distinct leaves out each advice with which an earlier one starts.
func distinct(advice []string) (kept []string) {
	for i, a := range advice {
		if !slices.ContainsFunc(advice[:i], func(b string) bool { return strings.HasPrefix(b, a) }) {
			kept = append(kept, a)
		}
	}
	return kept
}

// missing returns the reasons why a need has none of its choices.
func missing(n *Need) string {
	var reasons []string
	for _, c := range n.choices {
		if c.err != nil && !slices.Contains(reasons, c.err.Error()) {
			reasons = append(reasons, c.err.Error())
		}
	}
	return strings.Join(reasons, ", ")
}

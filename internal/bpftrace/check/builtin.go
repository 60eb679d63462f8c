package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// builtinNames are the builtins. Error messages suggest a similar one.
var builtinNames = []string{
	"pid", "tid", "uid", "gid", "nsecs", "elapsed", "numaid", "cpu", "comm", "kstack", "ustack",
	"arg0", "arg1", "args", "retval", "func", "probe", "probetype", "curtask", "rand", "cgroup", "cpid",
	"ncpus", "ppid", "pcomm", "leader_tid", "leader_comm", "username", "usermode", "has_cpid", "config",
}

// words are the keywords that start a statement.
var words = []string{"return", "break", "continue", "while", "unroll"}

// refused maps builtins and functions that need BPF to what works instead.
var refused = map[string]string{
	"ctx":           "use args, arg0, reg() or retval",
	"jiffies":       "use nsecs",
	"override":      "",
	"write_user":    "",
	"skboutput":     "record packets with tcpdump",
	"socket_cookie": "use the address of the socket as the key",
	"percpu_kaddr":  "use kaddr() for what is not per CPU",
	"path":          "str() of the name of the dentry gives its last part",
	"kfunc_exist":   "",
	"kfunc_allowed": "",
	"__builtin_ctx": "",
	"fail":          "",
}

// The providers at which some builtins have a meaning.
var (
	argProviders  = []string{"kprobe", "uprobe", "usdt", "rawtracepoint", "watchpoint", "asyncwatchpoint"}
	returnOf      = []string{"kretprobe", "uretprobe", "fexit"}
	funcProviders = []string{"kprobe", "kretprobe", "uprobe", "uretprobe", "fentry", "fexit"}
	regProviders  = []string{"kprobe", "kretprobe", "uprobe", "uretprobe", "usdt", "watchpoint", "asyncwatchpoint", "profile", "software", "hardware"}
)

// only checks that a builtin has a meaning at all attach points of the probe.
func (c *checker) only(pos syntax.Pos, builtin string, providers []string) bool {
	if c.probe == nil {
		c.errorf(pos, "a function has no %s: pass it as an argument", builtin)
		return false
	}
	for _, p := range c.probe.Points {
		if !slices.Contains(providers, p.Provider) {
			hint := "it works with " + strings.Join(providers, ", ")
			switch {
			case p.Provider != "tracepoint":
			case builtin == "retval" && c.hasArgument("ret"):
				hint = "this tracepoint has it as args.ret"
			default:
				hint = "a tracepoint has args.NAME: " + strings.Join(c.argumentNames(), ", ")
			}
			c.hintf(pos, hint, "%s has no meaning in %s", builtin, p.Provider)
			return false
		}
	}
	return true
}

// narrow returns the type of a builtin that has 64 bits in bpftrace 0.17 and fewer in newer
// releases.
func (c *checker) narrow(t *types.Type) *types.Type {
	if c.opts.Dialect == V017 {
		return types.Uint64
	}
	return t
}

func (c *checker) ident(e *syntax.Ident) Expr {
	name := strings.TrimPrefix(e.Name, "__builtin_")
	header := func(t *types.Type) Expr { return &Header{Typed: Typed{e.Pos, t}, Name: name} }
	from := func(r Root, t *types.Type) Expr { return c.source(e.Pos, &Source{Root: r, Type: t}) }
	comm := &types.Type{Kind: types.String, Size: 16}
	switch name {
	case "pid", "tid":
		return header(c.narrow(types.Uint32))
	case "nsecs":
		return &Header{Typed: Typed{e.Pos, types.Uint64}, Name: name, Mode: "boot"}
	case "elapsed", "cpu", "ncpus", "cpid":
		return header(types.Uint64)
	case "rand":
		return header(c.narrow(types.Uint32))
	case "comm":
		return header(comm)
	case "has_cpid":
		return &Const{Typed: Typed{e.Pos, c.truthType()}, N: boolean(c.opts.Child)}
	case "probe":
		return header(&types.Type{Kind: types.ProbeName})
	case "probetype":
		return c.probeType(e.Pos)
	case "uid":
		return from(UIDRoot, types.Uint64)
	case "gid":
		return from(GIDRoot, types.Uint64)
	case "username":
		return &Convert{Typed{e.Pos, &types.Type{Kind: types.Username}}, from(UIDRoot, types.Uint64)}
	case "cgroup":
		return from(CgroupRoot, types.Uint64)
	case "numaid":
		return from(NUMARoot, c.narrow(types.Uint32))
	case "usermode":
		return c.userMode(e.Pos)
	case "curtask":
		return c.task(e.Pos)
	case "ppid":
		return from(ParentRoot, types.Uint32)
	case "leader_tid":
		return from(LeaderRoot, types.Uint32)
	case "pcomm":
		return from(ParentCommRoot, comm)
	case "leader_comm":
		return from(LeaderCommRoot, comm)
	case "kstack", "ustack", "dw_ustack":
		return c.stack(e.Pos, name, nil)
	case "func":
		return c.funcName(e.Pos)
	case "retval":
		return c.retval(e.Pos)
	case "args":
		return c.argsValue(e.Pos)
	case "config":
		return c.settings(e.Pos)
	case "default_str_length":
		return &Const{Typed: Typed{e.Pos, types.Uint64}, N: uint64(c.prog.Config.MaxStrlen)}
	}
	if n, ok := numbered(name, "arg"); ok {
		if !c.only(e.Pos, name, argProviders) {
			return bad(e.Pos)
		}
		return c.source(e.Pos, &Source{Root: ArgRoot, N: n, Type: types.Uint64})
	}
	if n, ok := numbered(name, "sarg"); ok {
		if !c.only(e.Pos, name, []string{"kprobe", "uprobe"}) {
			return bad(e.Pos)
		}
		return c.source(e.Pos, &Source{Root: StackArgRoot, N: n, Type: types.Uint64})
	}
	if n, t, ok := c.env().Constant(e.Name); ok {
		if t == nil {
			t = types.Int64
		}
		return &Const{Typed: Typed{e.Pos, t}, N: uint64(n), literal: t.Name == ""}
	}
	if name == "ctx" && c.iterates() {
		c.hintf(e.Pos, "it has "+strings.Join(c.argumentNames(), ", "), "ctx has no value of its own here, but its members have")
		return bad(e.Pos)
	}
	if hint, ok := refused[name]; ok {
		c.hintf(e.Pos, hint, "%s needs BPF, which ringtap does without", e.Name)
		return bad(e.Pos)
	}
	if lookup(name) != nil {
		return c.call(&syntax.Call{Pos: e.Pos, Func: name})
	}
	hint := nearest(e.Name, builtinNames, words)
	if header := syntax.HeaderOf(e.Name); header != "" {
		hint = "#include <" + header + "> defines it"
	}
	if c.hasArgument(e.Name) {
		hint = "it is an argument of this probe: args." + e.Name
	}
	c.hintf(e.Pos, hint, "nothing is named %s", e.Name)
	return bad(e.Pos)
}

// numbered parses a builtin such as arg12.
func numbered(name, prefix string) (int, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok || digits == "" || len(digits) > 3 {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0 && digits[0] != '+'
}

func (c *checker) probeType(pos syntax.Pos) Expr {
	if c.probe == nil || len(c.probe.Points) == 0 {
		c.errorf(pos, "a function has no probetype")
		return bad(pos)
	}
	p := c.probe.Points[0].Provider
	if p == "begin" || p == "end" || p == "self" {
		p = "special"
	}
	return c.text(pos, p)
}

func (c *checker) task(pos syntax.Pos) Expr {
	t := types.Uint64
	task, err := c.env().Resolve(&syntax.TypeExpr{Pos: pos, Base: "struct task_struct"})
	if err == nil && c.opts.Dialect != V017 {
		t = &types.Type{Kind: types.Pointer, Size: 8, Elem: task}
	}
	return c.source(pos, &Source{Root: TaskRoot, Type: t})
}

func (c *checker) funcName(pos syntax.Pos) Expr {
	if !c.only(pos, "func", funcProviders) {
		return bad(pos)
	}
	user := 0
	for _, p := range c.probe.Points {
		if p.Provider == "uprobe" || p.Provider == "uretprobe" {
			user++
		}
	}
	t := &types.Type{Kind: types.KSym}
	switch user {
	case 0:
	case len(c.probe.Points):
		t.Kind = types.USym
	default:
		c.hintf(pos, "give the kernel's functions a clause of their own", "func is a symbol of the kernel at some of these probes and of a program at others")
		return bad(pos)
	}
	return c.source(pos, &Source{Root: FuncRoot, Type: t})
}

func (c *checker) retval(pos syntax.Pos) Expr {
	if !c.only(pos, "retval", returnOf) {
		return bad(pos)
	}
	t := types.Uint64
	if p := c.probe.Points[0]; p.Provider == "fexit" {
		r, err := c.env().Result(p)
		if err != nil {
			c.errorf(pos, "what %s returns is not known: %v", p.Text, err)
			return bad(pos)
		}
		if r != nil {
			t = r
		}
	}
	return c.source(pos, &Source{Root: ReturnRoot, Type: t})
}

// stack checks kstack and ustack, with or without arguments: a mode, a limit, or both.
func (c *checker) stack(pos syntax.Pos, name string, args []syntax.Expr) Expr {
	t := &types.Type{Kind: types.KStack, Mode: c.prog.Config.stackMode}
	root := KStackRoot
	if name != "kstack" {
		t.Kind, root = types.UStack, UStackRoot
	} else if t.Mode == "build_id" {
		t.Mode = "raw"
	}
	if len(args) > 2 {
		c.errorf(pos, "%s() takes a mode and a limit", name)
	}
	for i, a := range args {
		id, ok := a.(*syntax.Ident)
		if ok && !contains(stackModes, id.Name) {
			if _, _, enum := c.env().Constant(id.Name); !enum {
				c.hintf(a.Position(), "modes are "+strings.Join(stackModes, ", "), "%s() has no mode %s", name, id.Name)
				return bad(pos)
			}
		}
		if ok && i == 0 && contains(stackModes, id.Name) {
			if id.Name == "build_id" && t.Kind == types.KStack {
				c.errorf(a.Position(), "build_id is a mode of ustack only")
			}
			t.Mode = id.Name
			continue
		}
		x := c.value(a)
		k, ok := constant(x)
		if !ok || k.T.Kind != types.Int || int64(k.N) < 0 || k.N > 1<<16 {
			if known(x.Type()) || c.final {
				c.hintf(a.Position(), "modes are "+strings.Join(stackModes, ", "), "%s() takes a mode and a number of frames", name)
			}
			return bad(pos)
		}
		t.Limit = int(k.N)
	}
	return c.source(pos, &Source{Root: root, Type: t})
}

// Title returns the root as programs write it.
func (s *Source) Title() string {
	switch s.Root {
	case ArgRoot:
		return fmt.Sprintf("arg%d", s.N)
	case StackArgRoot:
		return fmt.Sprintf("sarg%d", s.N)
	case FieldRoot:
		return "args." + s.Name
	case RegisterRoot:
		return fmt.Sprintf("reg(%q)", s.Name)
	case SymbolRoot:
		return fmt.Sprintf("%#x", s.Address)
	case VariableRoot:
		return fmt.Sprintf("uaddr(%q)", s.Name)
	}
	return [...]string{
		ReturnRoot: "retval", KStackRoot: "kstack", UStackRoot: "ustack", FuncRoot: "func", UIDRoot: "uid",
		GIDRoot: "gid", CgroupRoot: "cgroup", TaskRoot: "curtask", ParentRoot: "ppid", LeaderRoot: "leader_tid",
		ParentCommRoot: "pcomm", LeaderCommRoot: "leader_comm", NUMARoot: "numaid", UserModeRoot: "usermode",
	}[s.Root]
}

// userMode checks usermode. It is a constant if all attach points are functions of programs, or all
// are functions of the kernel.
func (c *checker) userMode(pos syntax.Pos) Expr {
	in := func(providers ...string) bool {
		return c.probe != nil && len(c.probe.Points) > 0 && !slices.ContainsFunc(c.probe.Points, func(p *syntax.AttachPoint) bool {
			return !slices.Contains(providers, p.Provider)
		})
	}
	switch {
	case in("uprobe", "uretprobe", "usdt"):
		return &Const{Typed: Typed{pos, types.Uint8}, N: 1}
	case in("kprobe", "kretprobe", "fentry", "fexit"):
		return &Const{Typed: Typed{pos, types.Uint8}}
	}
	return c.source(pos, &Source{Root: UserModeRoot, Type: types.Uint8})
}

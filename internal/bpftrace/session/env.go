package session

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/ctypes"
	"github.com/ringtap/ringtap/internal/bpftrace/live"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/host/btf"
	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/internal/snapshot/syscalls"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe"
)

// env answers the checker's and the planner's questions about the host.
type env struct {
	*ctypes.Scope
	kernel   *kernelTypes
	programs *live.ProgramTypes
	enums    map[string]map[uint64]string // names of enum values, by enum
	memory   *kernelMemory
	files    uprobe.Options // how to find programs
}

// arguments returns the Arguments for an attach point. It loads the kernel's type information only
// if the attach point needs it.
func (e *env) arguments(p *syntax.AttachPoint) *live.Arguments {
	switch p.Provider {
	case "tracepoint":
		return &live.Arguments{Enums: e.enums}
	case "uprobe":
		return &live.Arguments{Programs: e.programs}
	}
	all := &live.Arguments{BTF: e.kernel.open(), Spec: e.kernel.spec}
	if p.Provider == "rawtracepoint" && all.Spec != nil {
		all.Spec = e.kernel.of(plan.Iterator + p.Args[1])
	}
	return all
}

// Args implements check.Env.
func (e *env) Args(p *syntax.AttachPoint) (*types.Type, error) { return e.arguments(p).Args(p) }

// Result implements check.Env.
func (e *env) Result(p *syntax.AttachPoint) (*types.Type, error) { return e.arguments(p).Result(p) }

var errFound = errors.New("found")

// Offset implements plan.Host.
func (e *env) Offset(structure, member string) (offset int, ok bool) {
	t, _, ok := e.kernel.Type(structure)
	if !ok {
		return 0, false
	}
	offset, err := e.Offsetof(t, strings.Split(member, "."))
	return offset, err == nil
}

// ReadsOnly implements plan.Host.
func (e *env) ReadsOnly(p *syntax.AttachPoint, parameter int) bool {
	return e.arguments(p).ReadsOnly(p, parameter)
}

// RawArguments implements plan.Host.
func (e *env) RawArguments(p *syntax.AttachPoint) error {
	if isPattern(p.Args[1]) {
		return errors.New("the tracepoints that a pattern matches have different ones")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	if !tracefs.Has("kprobe_events") {
		return errors.New("it takes a kprobe, and this kernel has none (CONFIG_KPROBE_EVENTS)")
	}
	_, found, err := moduleOf(plan.Iterator + p.Args[1])
	if err == nil && !found {
		err = fmt.Errorf("this kernel has no function %s%s (Linux 5.10)", plan.Iterator, p.Args[1])
	}
	if err != nil {
		return err
	}
	_, found, err = moduleOf(staticCall + p.Args[1])
	if err == nil && !found {
		err = fmt.Errorf("the compiler may have put %s%s where the kernel hits the tracepoint, so that a probe of it sees nothing (CONFIG_HAVE_STATIC_CALL)", plan.Iterator, p.Args[1])
	}
	return err
}

// staticCall is the prefix of the static call through which a tracepoint calls its handlers
// (DEFINE_TRACE_FN in include/linux/tracepoint.h). Without static calls, a tracepoint calls
// plan.Iterator's function directly. The compiler inlines that call in the file that defines both:
// kernel/sched/core.c, and on arm64 the one with the system calls.
const staticCall = "__SCT__tp_func_"

// moduleOf returns the module of a kernel function, or "" for the kernel itself.
func moduleOf(function string) (module string, found bool, err error) {
	file, err := proc.Live.Kallsyms()
	if err != nil {
		return "", false, err
	}
	defer file.Close()
	err = symbols.EachKernelSymbol(file, func(s *symbols.KernelSymbol) error {
		if string(s.Name) != function {
			return nil
		}
		module = string(s.Module)
		return errFound
	})
	if errors.Is(err, errFound) {
		return module, true, nil
	}
	return "", false, err
}

// Text implements plan.Host.
func (e *env) Text(p *syntax.AttachPoint, field string) bool { return e.arguments(p).Text(p, field) }

// Tasks implements plan.Host.
func (e *env) Tasks() error { return e.memory.findTasks(e) }

// EventProbes implements plan.Host.
func (e *env) EventProbes() error {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	return tracefs.TryEventProbe()
}

// fewVariables is more than the number of data symbols that a kernel lists without
// CONFIG_KALLSYMS_ALL, which is some dozens. With that option it lists tens of thousands.
const fewVariables = 1000

// Symbol returns the address of a kernel symbol, or the offset of a symbol in the program of p (see
// uprobe.Variable).
func (e *env) Symbol(name string, p *syntax.AttachPoint) (address uint64, size int, err error) {
	if p != nil {
		offset, size, err := uprobe.Variable(p.Args[0], e.files, name)
		return uint64(offset), int(size), err
	}
	file, err := proc.Live.Kallsyms()
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	data := 0
	err = symbols.EachKernelSymbol(file, func(s *symbols.KernelSymbol) error {
		if strings.IndexByte("bBdDrR", s.Type) >= 0 && len(s.Module) == 0 {
			data++
		}
		if string(s.Name) != name {
			return nil
		}
		address = s.Address
		return errFound
	})
	switch {
	case errors.Is(err, errFound) && address == 0:
		return 0, 0, errors.New("the kernel hides its addresses: run as root, or set kernel.kptr_restrict")
	case errors.Is(err, errFound):
		return address, 0, nil
	case err == nil && data < fewVariables:
		err = fmt.Errorf("the kernel tells of its functions alone (it was built without CONFIG_KALLSYMS_ALL), and it has no function %s", name)
	case err == nil:
		err = fmt.Errorf("the kernel has no symbol %s", name)
	}
	return 0, 0, err
}

// Register implements check.Env.
func (e *env) Register(name string) bool {
	_, _, err := ftrace.UserArgs([]ftrace.FetchArg{{Fetch: "%" + name}}, runtime.GOARCH, false)
	return err == nil
}

// firstPIDNamespace is the inode of the host's initial PID namespace, which is the same on every
// kernel (PROC_PID_INIT_INO).
const firstPIDNamespace = 0xeffffffc

// nested reports whether ringtap runs in a PID namespace other than the host's initial one.
func nested() bool { return proc.Live.Inode("self/ns/pid") != firstPIDNamespace }

// Cgroup returns the id of a control group.
func (e *env) Cgroup(path string) (uint64, error) {
	full := path
	if !strings.HasPrefix(path, "/sys/fs/cgroup") {
		full = "/sys/fs/cgroup/" + strings.TrimPrefix(path, "/")
	}
	id := inode(full)
	if id == 0 {
		return 0, fmt.Errorf("there is no control group %s", path)
	}
	return id, nil
}

// kernelTypes is the kernel's type information. It is loaded on first use.
type kernelTypes struct {
	read bool
	spec *btf.Spec // nil if the kernel has none
	btf  *ctypes.BTF
	// describing maps a function to the type information that describes it.
	describing map[string]*btf.Spec
}

func (k *kernelTypes) open() *ctypes.BTF {
	if !k.read {
		k.read = true
		if spec, err := btf.Read("/sys/kernel/btf"); err == nil {
			k.spec, k.btf = spec, ctypes.NewBTF(spec)
		}
	}
	return k.btf
}

// of returns the type information that describes a function: its module's if it is in one,
// otherwise the kernel's.
func (k *kernelTypes) of(function string) *btf.Spec {
	if spec, known := k.describing[function]; known {
		return spec
	}
	if k.describing == nil {
		k.describing = make(map[string]*btf.Spec)
	}
	k.describing[function] = k.find(function)
	return k.describing[function]
}

func (k *kernelTypes) find(function string) *btf.Spec {
	for range k.spec.Find(btf.Func, function) {
		return k.spec
	}
	if module, _, err := moduleOf(function); err == nil && module != "" {
		if own, err := btf.ReadModule(btf.Dir, module, k.spec); err == nil {
			return own
		}
	}
	return k.spec
}

// Type returns the kernel's type called name.
func (k *kernelTypes) Type(name string) (*types.Type, int, bool) {
	if b := k.open(); b != nil {
		return b.Type(name)
	}
	return nil, 0, false
}

// Complete returns a kernel struct with its fields.
func (k *kernelTypes) Complete(t *types.Type) (*types.Type, bool) {
	if b := k.open(); b != nil {
		return b.Complete(t)
	}
	return t, false
}

// Constant returns a constant of a kernel enum, or the number of a system call (__NR_NAME or
// SYS_NAME).
func (k *kernelTypes) Constant(name string) (int64, *types.Type, bool) {
	if b := k.open(); b != nil {
		if n, t, ok := b.Constant(name); ok {
			return n, t, true
		}
	}
	for _, prefix := range []string{"__NR_", "SYS_"} {
		if call, ok := strings.CutPrefix(name, prefix); ok {
			n, ok := syscalls.Number(call)
			return int64(n), nil, ok
		}
	}
	return 0, nil, false
}

// enums returns the names of the values of the program's own enums.
func enums(p *syntax.Program) map[string]map[uint64]string {
	all := map[string]map[uint64]string{}
	for _, d := range p.Definitions {
		e, ok := d.(*syntax.EnumDef)
		if !ok || e.Name == "" {
			continue
		}
		all[e.Name] = map[uint64]string{}
		for _, v := range e.Values {
			if _, taken := all[e.Name][uint64(v.Value)]; !taken {
				all[e.Name][uint64(v.Value)] = v.Name
			}
		}
	}
	return all
}

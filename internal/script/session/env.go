package session

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/btf"
	"github.com/ringtap/ringtap/internal/script/ctypes"
	"github.com/ringtap/ringtap/internal/script/live"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/types"
	"github.com/ringtap/ringtap/internal/syscalls"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe"
)

// env answers the checker about the host.
type env struct {
	*ctypes.Scope
	kernel   *kernelTypes
	programs *live.ProgramTypes
	enums    map[string]map[uint64]string // the names of their values
	memory   *kernelMemory
	files    uprobe.Options // how programs are found
}

// arguments knows the arguments of attach points. The kernel's type information is read for
// those that need it.
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

// Args returns the arguments of an attach point as a struct.
func (e *env) Args(p *syntax.AttachPoint) (*types.Type, error) { return e.arguments(p).Args(p) }

// Result returns the type of the result of what an attach point probes.
func (e *env) Result(p *syntax.AttachPoint) (*types.Type, error) { return e.arguments(p).Result(p) }

var errFound = errors.New("found")

// Offset returns where a member of a struct of the kernel is, or a member of a member: a.b.
func (e *env) Offset(structure, member string) (offset int, ok bool) {
	t, _, ok := e.kernel.Type(structure)
	if !ok {
		return 0, false
	}
	offset, err := e.Offsetof(t, strings.Split(member, "."))
	return offset, err == nil
}

// ReadsOnly tells whether a parameter of a function of the kernel points to what the function
// does not change.
func (e *env) ReadsOnly(p *syntax.AttachPoint, parameter int) bool {
	return e.arguments(p).ReadsOnly(p, parameter)
}

// RawArguments returns why the arguments of a raw tracepoint can't be had; nil if the function that has
// them can be probed.
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

// staticCall is what the name of the kernel's function begins with by which a tracepoint calls its users
// (include/linux/tracepoint.h, DEFINE_TRACE_FN). Without it a tracepoint calls plan.Iterator's directly,
// which the compiler inlines in the file that has both: that of kernel/sched/core.c, and on arm64 that of
// system calls.
const staticCall = "__SCT__tp_func_"

// moduleOf returns the module that a function of the kernel is in, "" for the kernel itself.
func moduleOf(function string) (module string, found bool, err error) {
	file, err := os.Open("/proc/kallsyms")
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

// Text tells whether a field of a tracepoint is a parameter of a system call that points to text.
func (e *env) Text(p *syntax.AttachPoint, field string) bool { return e.arguments(p).Text(p, field) }

// Tasks returns why the struct of a thread can't be found in the kernel's memory; nil if it can.
func (e *env) Tasks() error { return e.memory.findTasks(e) }

// EventProbes returns why the kernel can't put a probe on a tracepoint that fetches memory; nil if it can.
func (e *env) EventProbes() error {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	return tracefs.TryEventProbe()
}

// fewVariables is more than the symbols of data that a kernel tells without CONFIG_KALLSYMS_ALL: some
// dozens of marks. With it they are tens of thousands.
const fewVariables = 1000

// Symbol returns the address of a symbol of the kernel, or where one of the program of an attach point is.
func (e *env) Symbol(name string, p *syntax.AttachPoint) (address uint64, size int, err error) {
	if p != nil {
		offset, size, err := uprobe.Variable(p.Args[0], e.files, name)
		return uint64(offset), int(size), err
	}
	file, err := os.Open("/proc/kallsyms")
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

// Register tells whether the machine has a register of a name.
func (e *env) Register(name string) bool {
	_, _, err := ftrace.UserArgs([]ftrace.FetchArg{{Fetch: "%" + name}}, runtime.GOARCH, false)
	return err == nil
}

// firstPIDNamespace is the inode of the host's first namespace of processes, which is the same
// on every kernel.
const firstPIDNamespace = 0xeffffffc

// nested tells whether ringtap is in another namespace of processes.
func nested() bool { return inode("/proc/self/ns/pid") != firstPIDNamespace }

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

// kernelTypes is the kernel's type information, which is read when a program first asks for it.
type kernelTypes struct {
	read bool
	spec *btf.Spec // nil where there is none
	btf  *ctypes.BTF
	// describing are the types that describe a function, of those that were asked for.
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

// of returns the type information that describes a function: of the module that it is in, or the
// kernel's own.
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

// Type returns the kernel's type of a name.
func (k *kernelTypes) Type(name string) (*types.Type, int, bool) {
	if b := k.open(); b != nil {
		return b.Type(name)
	}
	return nil, 0, false
}

// Complete returns a struct of the kernel with its fields.
func (k *kernelTypes) Complete(t *types.Type) (*types.Type, bool) {
	if b := k.open(); b != nil {
		return b.Complete(t)
	}
	return t, false
}

// Constant returns a constant of an enum of the kernel, or the number of a system call.
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

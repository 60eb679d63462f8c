package kprobe

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/host/btf"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// KernelTypes returns the type information (BTF) of the running kernel and its modules, for
// Options.Types. It is read when it is first needed, and then kept. root is as in Options.Root.
// Several goroutines may use the result.
//
// A path is a C expression that starts with a parameter, $argN or $retval:
//
//	path->dentry->d_name.name   members, those of anonymous structs and unions too;
//	                            sk->sk_prot as by the macros of include/net/sock.h
//	p->numbers[2]  *pos         elements by their number
//	((struct sock *)x)->sk_own  casts; ((sock*)x) does without blanks
//	&p->comm                    addresses of what is read from there, such as text
//
// Arithmetic is not possible, since the kernel cannot compute. Values have the type of the C
// value:
//
//   - integers and enums: u or s with their size, or x if in network byte order;
//   - pointers: x64, or symbol for pointers to functions;
//   - arrays: T[N] with at most 64 elements;
//   - bit fields: bWIDTH@OFFSET/CONTAINER, which the kernel prints as unsigned;
//   - char, and const unsigned char behind a pointer: text, as string, or ustring in the task's
//     memory;
//   - a struct with one member, such as atomic_t: that member.
//
// A requested type must not be wider than the value. An array type applies to the value's own
// bytes, or to the memory that a pointer leads to: sk->sk_daddr:u8[4] is {127,0,0,1}.
//
// In $args, buffers are fetched as pointers (char * that is not const, or that is followed by a
// size_t). A struct passed by value is fetched as its words, NAME_0 and NAME_1 or x64[N].
// Parameters without a size or a location are left out.
//
// If a part of the Path is wrong, Fetch's error is a *ftrace.SyntaxError whose Text is the
// Path. Otherwise it is one sentence. If there is no type information, it says what works
// instead.
func KernelTypes(root string) Types {
	return &kernelTypes{dir: filepath.Join(cmp.Or(root, "/"), btf.Dir), machine: arch.Here, modules: make(map[string]loaded)}
}

type kernelTypes struct {
	dir     string
	machine *arch.Machine

	mu      sync.Mutex
	modules map[string]loaded // by name; "" is the kernel itself
}

type loaded struct {
	spec *btf.Spec
	err  error
}

// withoutTypes says what is possible without type information.
const withoutTypes = "$arg1, $arg2 … are the arguments in their order, and +OFFSET($arg1):TYPE is what a pointer leads to, OFFSET in bytes"

// of returns the type information of a module, or of the kernel if module is "".
func (k *kernelTypes) of(module string) (*btf.Spec, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kernel, ok := k.modules[""]
	if !ok {
		kernel.spec, kernel.err = btf.Read(k.dir)
		k.modules[""] = kernel
	}
	if module == "" || kernel.err != nil {
		return kernel.spec, kernel.err
	}
	// sysfs uses the kernel's module names, which have no dashes.
	module = strings.ReplaceAll(module, "-", "_")
	l, ok := k.modules[module]
	if !ok {
		l.spec, l.err = btf.ReadModule(k.dir, module, kernel.spec)
		if errors.Is(l.err, fs.ErrNotExist) {
			l.err = fmt.Errorf("the kernel has no type information of the module %s", module)
		}
		k.modules[module] = l
	}
	return l.spec, l.err
}

// Fetch implements Types.
func (k *kernelTypes) Fetch(f Function, isReturn bool, arg Arg) ([]ftrace.FetchArg, error) {
	spec, err := k.of(f.Module)
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, withoutTypes)
	}
	kernel, err := k.of("")
	if err != nil {
		return nil, err
	}
	e := &evaluator{path: arg.Path, function: f.Name, isReturn: isReturn, machine: k.machine, specs: []*btf.Spec{spec}}
	if kernel != spec {
		e.specs = append(e.specs, kernel)
	}
	if err := e.describe(); err != nil {
		return nil, err
	}
	if arg.Path == "$args" {
		return e.all()
	}
	v, err := e.evaluate()
	if err != nil {
		return nil, err
	}
	a, err := e.fetch(v, arg.Fetch.Type)
	if err != nil {
		return nil, err
	}
	if arg.Fetch.Name != "" {
		a.Name = arg.Fetch.Name
	}
	return []ftrace.FetchArg{a}, nil
}

// describe finds the function's type. If there is none, that is an error only when the type is
// needed: a path may start with a cast of $arg1.
func (e *evaluator) describe() error {
	name, suffix, _ := strings.Cut(e.function, ".")
	if strings.HasPrefix(suffix, "part.") || strings.HasPrefix(suffix, "cold") {
		// A piece of a function: the compiler decides its arguments.
		e.unknown = fmt.Sprintf("%s is a part that the compiler split off %s, and its arguments are unknown; %s", e.function, name, withoutTypes)
		return nil
	}
	var protos []btf.Type
	// For a function that the compiler renamed, the type information has either no entry, or
	// one under its source name if its arguments are where they belong (pahole's optimized
	// functions).
	for _, name := range slices.Compact([]string{e.function, name}) {
		for f := range e.specs[0].Find(btf.Func, name) {
			protos = append(protos, f.Target())
		}
		if len(protos) > 0 {
			break
		}
	}
	if len(protos) == 0 {
		e.unknown = fmt.Sprintf("the kernel's type information does not describe %s; %s", escape.Text(e.function), withoutTypes)
		return nil
	}
	for _, p := range protos[1:] {
		if p.Declare(name) != protos[0].Declare(name) {
			e.unknown = fmt.Sprintf("there are several functions %s with different parameters; %s", escape.Text(name), withoutTypes)
			return nil
		}
	}
	e.result = protos[0].Target()
	e.params = place(protos[0], e.machine)
	return nil
}

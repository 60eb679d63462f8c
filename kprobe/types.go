package kprobe

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/btf"
	"github.com/ringtap/ringtap/internal/escape"
)

// KernelTypes is the type information (BTF) of the running kernel and its
// modules, for Options.Types. Nothing is read before it is asked, and what has
// been read is kept. Root is as in Options. It may be used by several
// goroutines.
//
// A path is a C expression that begins with a parameter, $argN or $retval:
//
//	path->dentry->d_name.name   members, those of anonymous structs and unions too;
//	                            sk->sk_prot as by the macros of include/net/sock.h
//	p->numbers[2]  *pos         elements by their number
//	((struct sock *)x)->sk_own  casts; ((sock*)x) does without blanks
//	&p->comm                    addresses of what is read from there, such as text
//
// The kernel can't compute, and so there is no arithmetic. Values have their own
// types: integers and enums u or s with their bits, those of networks' byte order
// x, pointers x64, pointers to functions symbol, arrays T[N] of up to 64 elements,
// bitfields bWIDTH@OFFSET/CONTAINER, which the kernel prints without a sign. What
// is called char, and behind a pointer const unsigned char, is text: string, of
// the task's memory ustring. A struct of one member, such as atomic_t, is that
// member. A type that is asked for may not be wider than the value; an array's
// type takes a value's own bytes, or what a pointer leads to: sk->sk_daddr:u8[4] is
// {127,0,0,1}.
//
// Of $args, buffers are left as pointers (char * that is not const, or that a
// size_t follows), a struct that is passed by value is its words, NAME_0 and
// NAME_1 or x64[N], and what has no size or place is left out.
//
// Errors of Fetch are a *ftrace.SyntaxError whose Text is the argument's Path
// where a place in that is to blame, and otherwise one sentence: without type
// information it says what works instead.
func KernelTypes(root string) Types {
	return &kernelTypes{dir: filepath.Join(cmp.Or(root, "/"), btf.Dir), arch: runtime.GOARCH, modules: make(map[string]loaded)}
}

type kernelTypes struct {
	dir  string
	arch string

	mu      sync.Mutex
	modules map[string]loaded // by name, "" the kernel itself
}

type loaded struct {
	spec *btf.Spec
	err  error
}

// withoutTypes is what can be done without type information.
const withoutTypes = "$arg1, $arg2 … are the arguments in their order, and +OFFSET($arg1):TYPE is what a pointer leads to, OFFSET in bytes"

// of returns the type information of a module, "" for the kernel.
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
	// sysfs names modules as the kernel does, which knows no dash.
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
	e := &evaluator{path: arg.Path, function: f.Name, isReturn: isReturn, arch: k.arch, specs: []*btf.Spec{spec}}
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

// describe finds the function's type. That there is none is an error where it
// is asked for only: a path may begin with a cast of $arg1.
func (e *evaluator) describe() error {
	name, suffix, _ := strings.Cut(e.function, ".")
	if strings.HasPrefix(suffix, "part.") || strings.HasPrefix(suffix, "cold") {
		// A piece of a function, whose arguments are the compiler's own.
		e.unknown = fmt.Sprintf("%s is a part that the compiler split off %s, and its arguments are unknown; %s", e.function, name, withoutTypes)
		return nil
	}
	var protos []btf.Type
	// The kernel's information has a function whose name the compiler changed
	// either not at all, or under its own name if its arguments are where they
	// belong (pahole's optimized functions).
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
	e.params = place(protos[0], e.arch)
	return nil
}

package live

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/ctypes"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/host/btf"
	"github.com/ringtap/ringtap/internal/readmem/syscalltext"
	"github.com/ringtap/ringtap/internal/text/match"
)

// Arguments finds the types of attach points' arguments: for tracepoints in tracefs, for the
// kernel's functions in BTF, for functions of programs in their debug information.
type Arguments struct {
	Spec *btf.Spec   // of the kernel, nil if it has none
	BTF  *ctypes.BTF // the types of Spec
	// Programs finds the types of the probed programs.
	Programs *ProgramTypes
	// Enums gets the names that tracepoints print for values of enums, by the enum's name.
	Enums map[string]map[uint64]string
}

// Args returns the arguments of an attach point as a struct, in the order of the call.
func (a *Arguments) Args(p *syntax.AttachPoint) (*types.Type, error) {
	switch p.Provider {
	case "tracepoint":
		return a.recordType(p)
	case "iter":
		return a.context(p)
	case "uprobe":
		return a.Programs.Args(p)
	case "kprobe", "fentry", "fexit", "rawtracepoint":
		proto, err := a.function(p)
		if err != nil {
			return nil, err
		}
		args := &types.Type{Kind: types.Struct, Name: "struct " + p.Text + "_args"}
		first := 0
		if p.Provider == "rawtracepoint" {
			first = 1 // the first parameter is not the tracepoint's: see plan.Iterator
		}
		for i := first; i < proto.Len(); i++ {
			param := proto.Param(i)
			t := a.BTF.Convert(param.Type)
			args.Fields = append(args.Fields, types.Field{Name: param.Name, Type: t, Offset: 8 * i})
		}
		args.Size = 8 * proto.Len()
		return args, nil
	}
	e := &syntax.Error{Msg: "a probe of " + p.Provider + " has no arguments with names"}
	switch p.Provider {
	case "usdt":
		e.Hint = "use arg0, arg1 and so on, with casts"
	case "kretprobe", "uretprobe":
		e.Hint = "keep them in a map at the function's entry; the result is retval"
	}
	return nil, e
}

// Result returns the type of the value that the function of an attach point returns, or nil if it
// is unknown.
func (a *Arguments) Result(p *syntax.AttachPoint) (*types.Type, error) {
	if p.Provider != "fexit" {
		return nil, nil
	}
	protos, err := a.functions(p)
	if err != nil {
		return nil, err
	}
	for _, other := range protos[1:] {
		if x, y := protos[0].Target().String(), other.Target().String(); x != y {
			return nil, fmt.Errorf("one function that it matches returns %s, another %s", x, y)
		}
	}
	return a.BTF.Convert(protos[0].Target()), nil
}

// functions finds the functions of an attach point in the kernel's type information, at least one.
// The attach point may be a pattern.
func (a *Arguments) functions(p *syntax.AttachPoint) (protos []btf.Type, err error) {
	name := p.Args[len(p.Args)-1]
	if a.Spec == nil || !strings.ContainsAny(name, "*?[") {
		proto, err := a.function(p)
		return []btf.Type{proto}, err
	}
	glob, err := match.ParseGlob(name)
	if err != nil {
		return nil, err
	}
	for t := range a.Spec.Types() {
		if t.Kind() == btf.Func && glob.Match(t.Name()) {
			protos = append(protos, t.Target())
		}
	}
	if len(protos) == 0 {
		err = fmt.Errorf("the kernel's type information has no function that %s matches", name)
	}
	return protos, err
}

// ReadsOnly reports whether a parameter of an attach point's function is a pointer to const.
// parameter is its index.
func (a *Arguments) ReadsOnly(p *syntax.AttachPoint, parameter int) bool {
	proto, err := a.function(p)
	if err != nil || parameter >= proto.Len() || p.Provider == "rawtracepoint" {
		return false
	}
	pointer := proto.Param(parameter).Type.Resolve()
	return pointer.Kind() == btf.Pointer && pointer.Target().Qualified(btf.Const, "")
}

// Text reports whether a field of a tracepoint is a parameter of a system call that points to text, or to
// pointers to texts.
func (a *Arguments) Text(p *syntax.AttachPoint, field string) bool {
	format, err := format(p)
	return err == nil && slices.ContainsFunc(syscalltext.Params(format), func(param syscalltext.Param) bool { return param.Name == field })
}

// function finds the function of an attach point in the kernel's type information.
func (a *Arguments) function(p *syntax.AttachPoint) (btf.Type, error) {
	if a.Spec == nil {
		return btf.Type{}, btf.ErrNone
	}
	name := p.Args[len(p.Args)-1]
	what := "function"
	if p.Provider == "rawtracepoint" {
		what, name = "tracepoint", plan.Iterator+name
	}
	if strings.ContainsAny(name, "*?[") {
		return btf.Type{}, errors.New("args of a pattern are not known: name one " + what)
	}
	for function := range a.Spec.Find(btf.Func, name) {
		return function.Target(), nil
	}
	return btf.Type{}, fmt.Errorf("the kernel's type information has no function %s", name)
}

// format returns the format of a tracepoint's records. For a pattern, it takes the first tracepoint
// that matches.
func format(p *syntax.AttachPoint) (*ftrace.Format, error) {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	if len(p.Args) != 2 {
		return nil, errors.New("a tracepoint is tracepoint:SYSTEM:EVENT")
	}
	system, name := p.Args[0], p.Args[1]
	if strings.ContainsAny(system+name, "*?[") {
		if system, name, err = firstMatch(tracefs, system+":"+name); err != nil {
			return nil, err
		}
	}
	return tracefs.Format(system, name)
}

// recordType returns the record of a tracepoint as a struct.
func (a *Arguments) recordType(p *syntax.AttachPoint) (*types.Type, error) {
	format, err := format(p)
	if err != nil {
		return nil, err
	}
	system := format.System
	t := &types.Type{Kind: types.Struct, Name: "struct _tracepoint_" + system + "_" + format.Name}
	for i := range format.Fields {
		f := &format.Fields[i]
		if f.Common {
			continue
		}
		of := fieldType(f, system == "syscalls")
		if enum, ok := strings.CutPrefix(f.Type, "enum "); ok && of.Kind == types.Int && a.named(enum, format.PrintFmt, f.Name) {
			of = &types.Type{Kind: types.Int, Size: of.Size, Signed: of.Signed, Name: enum}
		}
		t.Fields = append(t.Fields, types.Field{Name: f.Name, Type: of, Offset: f.Offset})
		t.Size = max(t.Size, f.Offset+f.Size)
	}
	return t, nil
}

// named reports whether Enums has names for the values of an enum. If it does not, named adds the names
// that a print format has for a field. It returns false if Enums is nil.
func (a *Arguments) named(enum, printFmt, field string) bool {
	if a.Enums == nil || a.Enums[enum] != nil {
		return a.Enums != nil
	}
	values := symbolic(printFmt, field)
	if len(values) == 0 {
		return false
	}
	a.Enums[enum] = values
	return true
}

// symbolic returns the names of a field's values if a print format prints them by name:
// __print_symbolic(REC->field, { 1, "ONE" }, { 2, "TWO" }).
func symbolic(printFmt, field string) map[uint64]string {
	values := map[uint64]string{}
	_, list, _ := strings.Cut(printFmt, "__print_symbolic(REC->"+field+",")
	for {
		open, rest, ok := strings.Cut(list, "{")
		if !ok || strings.ContainsAny(open, ")\"") {
			return values
		}
		pair, after, _ := strings.Cut(rest, "}")
		number, name, _ := strings.Cut(pair, ",")
		n, err := strconv.ParseUint(strings.TrimSpace(number), 0, 64)
		text, textErr := strconv.Unquote(strings.TrimSpace(name))
		if err == nil && textErr == nil {
			values[n] = text
		}
		list = after
	}
}

// firstMatch returns the first tracepoint that a pattern matches.
func firstMatch(tracefs *ftrace.FS, pattern string) (system, name string, err error) {
	glob, err := match.ParseGlob(pattern)
	if err != nil {
		return "", "", err
	}
	all, err := tracefs.Events()
	if err != nil {
		return "", "", err
	}
	for _, event := range all {
		if glob.Match(event.String()) {
			return event.System, event.Name, nil
		}
	}
	return "", "", fmt.Errorf("no tracepoint matches %s", pattern)
}

// maxText is the maximum length of a text in a record, in bytes.
const maxText = 1024

// fieldType returns the type of a field of a tracepoint's record. user says that pointers lead to
// user memory, as the parameters of system calls do.
func fieldType(f *ftrace.Field, user bool) *types.Type {
	switch {
	case f.String && f.Location == ftrace.Inline:
		return &types.Type{Kind: types.String, Size: f.Size, Array: true}
	case f.String:
		return &types.Type{Kind: types.String, Size: maxText}
	case strings.HasSuffix(f.Type, "*"):
		return &types.Type{Kind: types.Pointer, Size: 8, Elem: pointee(f.Type, user), User: user}
	case f.Array && f.Length > 0:
		return &types.Type{Kind: types.Array, Size: f.Size, Len: f.Length, Elem: types.Integer(f.ElemSize, f.Signed)}
	case f.Location != ftrace.Inline || f.Array:
		return &types.Type{Kind: types.Buffer, Size: maxText}
	}
	// The kernel describes all parameters of system calls as unsigned.
	return types.Integer(f.Size, f.Signed || f.Type == "int" || f.Type == "long")
}

// pointee returns the type that a pointer in a record points to, given the pointer's declaration.
// A struct is the kernel's, and its members come from elsewhere.
func pointee(declared string, user bool) *types.Type {
	words := strings.Fields(strings.ReplaceAll(declared, "*", " * "))
	words = slices.DeleteFunc(words, func(word string) bool { return word == "const" })
	text := slices.Contains(words, "char")
	switch n := len(words); {
	case n > 2 && words[n-2] == "*" && text: // a vector of texts
		return &types.Type{Kind: types.Pointer, Size: 8, Elem: types.Int8, User: user}
	case text:
		return types.Int8
	case n > 2 && words[n-2] == "*":
		return types.Uint64
	case n == 3 && words[0] == "struct":
		return &types.Type{Kind: types.Struct, Name: strings.Join(words[:2], " ")}
	}
	return types.Uint8
}

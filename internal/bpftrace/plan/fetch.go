package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// field returns where event gets the value of s. It returns false after it has noted an error.
func (p *planner) field(event *Event, s *check.Source) (Field, bool) {
	p.source = s
	defer func() { p.source = nil }()
	switch s.Root {
	case check.KStackRoot:
		event.KernelStack = true
		return Field{From: KernelStack}, true
	case check.UStackRoot:
		event.UserStack = true
		return Field{From: UserStack}, true
	case check.FuncRoot:
		return Field{From: Function}, true
	case check.UIDRoot, check.GIDRoot, check.CgroupRoot, check.ParentRoot, check.LeaderRoot, check.ParentCommRoot, check.LeaderCommRoot,
		check.NUMARoot:
		return Field{From: Process, Root: s.Root}, true
	case check.TaskRoot:
		return p.task(s)
	}
	switch event.Place {
	case Tracepoint:
		return p.recorded(event, s)
	case Sampled:
		if s.Root == check.UserModeRoot {
			return Field{From: Process, Root: s.Root}, true
		}
		p.refuse("", "%s has no arguments", p.point.Provider)
		return Field{}, false
	}
	if p.point.Provider == "fexit" && (s.Root == check.FieldRoot || s.Root == check.ArgRoot) {
		return p.atEntry(event, s)
	}
	if s.Root == check.VariableRoot && len(s.Path) == 0 && s.Form == check.Plain {
		offset, ok := p.variable(s)
		return Field{From: Address, Offset: offset}, ok
	}
	text, ok := p.argument(event, s)
	if !ok {
		return Field{}, false
	}
	return Field{From: Record, Name: event.fetch(text)}, true
}

// variable returns the offset of a variable of the probed program (see uprobe.Variable).
func (p *planner) variable(s *check.Source) (offset int64, ok bool) {
	at, _, err := p.host.Symbol(s.Name, p.point)
	if err != nil {
		p.refuse("", "uaddr(): %v", err)
		return 0, false
	}
	return int64(at), true
}

// atEntry makes a return probe take s from the function's entry, where its arguments are known.
func (p *planner) atEntry(event *Event, s *check.Source) (Field, bool) {
	if event.Entry == nil {
		event.Entry = p.planned(&Event{Place: Kernel, Definition: "p:" + strings.TrimPrefix(event.Definition, "r:")})
	}
	at := *p.point
	at.Provider = "fentry"
	defer func(point *syntax.AttachPoint) { p.point = point }(p.point)
	p.point = &at
	text, ok := p.argument(event.Entry, s)
	if !ok {
		return Field{}, false
	}
	return Field{From: Entry, Name: event.Entry.fetch(text)}, true
}

// recorded returns where to find the value of s at a tracepoint: in a field of the record, or in
// memory that a field points to.
func (p *planner) recorded(event *Event, s *check.Source) (Field, bool) {
	switch {
	case s.Root == check.SymbolRoot && !s.User:
		return p.behind(event, s)
	case s.Root != check.FieldRoot:
		p.refuse("use args.FIELD", "a tracepoint has no registers")
	case len(s.Path) == 0 && s.Form == check.Plain:
		return Field{From: Record, Name: s.Name}, true
	case len(s.Path) == 0 && s.User && (s.Form == check.Text || s.Form == check.Vector) && p.host.Text(p.point, s.Name):
		return Field{From: RecordText, Name: s.Name}, true
	case s.Form == check.Text && s.Name == "argv" && strings.HasPrefix(p.point.Args[1], "sys_enter_exec") && isWord(s.Path):
		return Field{From: RecordText, Name: s.Name}, true
	case s.User:
		return Field{From: Memory, Name: s.Name}, true
	default:
		return p.behind(event, s)
	}
	return Field{}, false
}

// maxWords is how many strings of a vector (such as argv) are copied with a record.
const maxWords = 16

// isWord reports whether a path leads to one of the strings of a vector that are copied with a
// record.
func isWord(path []check.Step) bool {
	return len(path) == 1 && path[0].Deref && path[0].Offset%8 == 0 && path[0].Offset >= 0 && path[0].Offset < 8*maxWords
}

// behind makes an event probe fetch kernel memory that a field of the tracepoint, or a fixed
// address, points to.
func (p *planner) behind(event *Event, s *check.Source) (Field, bool) {
	what := "the memory at " + s.Title()
	if s.Root == check.FieldRoot {
		what = "what the field " + s.Name + " points to"
	}
	if err := p.host.EventProbes(); err != nil {
		p.refuse("a kprobe on the function that the tracepoint is in can read it", "%s is not in the tracepoint's record, and %v", what, err)
		return Field{}, false
	}
	text, ok := p.argument(event, s)
	if !ok {
		return Field{}, false
	}
	b := &event.Behind
	if s.Root == check.FieldRoot {
		same := Same{s.Name, fetched(&b.Fetch, "$"+s.Name+":u64")}
		if !slices.Contains(b.Same, same) {
			b.Same = append(b.Same, same)
		}
	}
	return Field{From: EventProbe, Name: fetched(&b.Fetch, text)}, true
}

// argument returns the kernel's fetch argument for the value of s.
func (p *planner) argument(event *Event, s *check.Source) (text string, ok bool) {
	raw := p.point.Provider == "rawtracepoint" && s.Root == check.ArgRoot
	of := s.Type
	var base string
	if raw {
		base, of, ok = p.rawArgument(s.N)
	} else {
		base, ok = p.base(event, s)
	}
	if !ok {
		return "", false
	}
	if len(s.Path) == 0 && s.Form == check.Plain {
		if p.point.Provider == "usdt" {
			return base, true // a USDT argument has its own type
		}
		return base + ":" + number(of), true
	}
	user := ""
	if s.User && event.Place == Kernel {
		user = "u" // a probe of the kernel reads the memory of the process
	}
	at := func(offset int) string { return dereference(user, offset, base) }
	if s.Root == check.SymbolRoot {
		at = func(offset int) string { return fmt.Sprintf("@%#x", s.Address+uint64(int64(offset))) } // the value at the address
	}
	if s.Root == check.VariableRoot {
		start, ok := p.variable(s)
		if !ok {
			return "", false
		}
		at = func(offset int) string { return fmt.Sprintf("@+%d", start+int64(offset)) }
	}
	offset := 0
	for _, step := range s.Path {
		offset += step.Offset
		if step.Deref {
			followed := at(offset)
			at, offset = func(offset int) string { return dereference(user, offset, followed) }, 0
		}
	}
	kind, ok := p.memory(s)
	return at(offset) + kind, ok
}

// dereference returns a fetch argument that reads at offset from address.
func dereference(user string, offset int, address string) string {
	sign := "+"
	if offset < 0 {
		sign, offset = "-", -offset
	}
	return fmt.Sprintf("%s%s%d(%s)", sign, user, offset, address)
}

// base returns the root of s as a fetch argument.
func (p *planner) base(event *Event, s *check.Source) (text string, ok bool) {
	mark := p.point.Provider == "usdt"
	switch s.Root {
	case check.ArgRoot:
		if isReturn(p.point) {
			p.refuse("keep it in a map at the function's entry", "arg%d is not known at the return", s.N)
			return "", false
		}
		return fmt.Sprintf("$arg%d", s.N+1), true
	case check.ReturnRoot:
		return "$retval", true
	case check.RegisterRoot:
		return "%" + s.Name, true
	case check.StackArgRoot:
		return fmt.Sprintf("$stack%d", s.N+1), true // after the return address
	case check.SymbolRoot:
		return fmt.Sprintf(`\%#x`, s.Address), true
	case check.VariableRoot:
		return "", true // the offset that follows is all that a fetch argument needs
	case check.FieldRoot:
		if mark || isReturn(p.point) {
			p.refuse("keep it in a map at the function's entry", "args.%s is not known here", s.Name)
			return "", false
		}
		switch event.Place {
		case User:
			return p.userParameter(s)
		case Tracepoint:
			return "$" + s.Name, true
		}
		return p.parameter(s.Name)
	}
	p.refuse("", "this value is not possible yet at a %s", p.point.Provider)
	return "", false
}

// userParameter returns the fetch argument for a parameter of a program's function. It is the
// parameter's name if the value is plain: package uprobe finds it in the debug information. It is
// the register of the parameter if the value is a pointer to follow.
func (p *planner) userParameter(s *check.Source) (text string, ok bool) {
	if len(s.Path) == 0 && s.Form == check.Plain {
		return s.Name, true
	}
	f, err := p.argumentNamed(s.Name)
	if err == nil && f.Offset < 0 {
		err = fmt.Errorf("args.%s is in no register, so it is not followed", s.Name)
	}
	if err != nil {
		p.refuse("", "%v", err)
		return "", false
	}
	return fmt.Sprintf("$arg%d", f.Offset/8+1), true
}

// argumentNamed returns an argument of the attach point.
func (p *planner) argumentNamed(name string) (types.Field, error) {
	args, err := p.host.Args(p.point)
	if err != nil {
		return types.Field{}, err
	}
	i := slices.IndexFunc(args.Fields, func(f types.Field) bool { return f.Name == name })
	if i < 0 {
		return types.Field{}, fmt.Errorf("%s has no argument %s", p.point.Text, name)
	}
	return args.Fields[i], nil
}

// parameter returns the fetch argument for a parameter of a kernel function: its position in the
// call.
func (p *planner) parameter(name string) (text string, ok bool) {
	f, err := p.argumentNamed(name)
	if err != nil {
		p.refuse("", "%v", err)
		return "", false
	}
	return fmt.Sprintf("$arg%d", f.Offset/8+1), true
}

// number returns the fetch type of an integer.
func number(t *types.Type) string {
	if t.Kind == types.Int && t.Signed {
		return fmt.Sprintf("s%d", 8*t.Size)
	}
	if (t.Kind == types.Int || t.Kind == types.Bool) && t.Size > 0 {
		return fmt.Sprintf("u%d", 8*t.Size)
	}
	return "u64"
}

// maxElements is the largest number of elements that the kernel fetches of an array (MAX_ARRAY_LEN
// in kernel/trace/trace_probe.h).
const maxElements = 64

// memory returns the fetch type of the memory at the end of the path of s.
func (p *planner) memory(s *check.Source) (kind string, ok bool) {
	size := s.Size
	switch s.Form {
	case check.Text:
		return ":string", true
	case check.Vector:
		p.refuse("", "join() is not possible yet at a %s", p.point.Provider)
		return "", false
	case check.Plain:
		switch s.Type.Kind {
		case types.Int, types.Bool, types.Pointer:
			return ":" + number(s.Type), true
		}
		size = s.Type.Size
	}
	switch {
	case size <= 0:
		p.refuse("", "the size of what is read must be known")
		return "", false
	case size <= maxElements:
		return fmt.Sprintf(":u8[%d]", size), true
	case size <= 8*maxElements:
		return fmt.Sprintf(":x64[%d]", (size+7)/8), true
	}
	p.refuse("read the members that matter", "%d bytes are more than the %d that a hit can carry", size, 8*maxElements)
	return "", false
}

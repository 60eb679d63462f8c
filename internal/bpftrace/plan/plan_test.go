package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/ctypes"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// env is a host that has one kernel function, one tracepoint and nothing else.
type env struct {
	*ctypes.Scope
	noTasks error
	without error // event probes, arguments of raw tracepoints
}

func (env) Args(p *syntax.AttachPoint) (*types.Type, error) {
	char := &types.Type{Kind: types.Pointer, Size: 8, Elem: types.Int8, User: true}
	switch p.Provider {
	case "uprobe":
		return &types.Type{Kind: types.Struct, Fields: []types.Field{
			{Name: "n", Type: types.Int32}, {Name: "name", Type: char, Offset: 8}, {Name: "stacked", Type: char, Offset: -8},
		}}, nil
	case "fentry", "fexit":
		return &types.Type{Kind: types.Struct, Fields: []types.Field{
			{Name: "first", Type: types.Int32}, {Name: "second", Type: types.Uint64, Offset: 8},
		}}, nil
	case "rawtracepoint": // of which a pointer of the kernel's own is the first parameter
		return &types.Type{Kind: types.Struct, Fields: []types.Field{
			{Name: "first", Type: types.Int32, Offset: 8}, {Name: "second", Type: types.Uint64, Offset: 16},
		}}, nil
	case "tracepoint":
		if p.Args[0] == "kernel" {
			return &types.Type{Kind: types.Struct, Fields: []types.Field{{Name: "where", Type: &types.Type{Kind: types.Pointer, Size: 8, Elem: types.Uint8}}}}, nil
		}
		return &types.Type{Kind: types.Struct, Fields: []types.Field{
			{Name: "dfd", Type: types.Int64}, {Name: "filename", Type: char, Offset: 8}, {Name: "buf", Type: char, Offset: 16},
		}}, nil
	}
	return nil, errors.New("no args")
}

func (env) Offset(structure, member string) (offset int, ok bool) {
	offset, ok = map[string]int{"real_parent": 16, "pid": 8, "tgid": 12, "comm": 32}[member]
	return offset, ok
}

func (env) ReadsOnly(p *syntax.AttachPoint, parameter int) bool { return p.Text == "kprobe:named" }

func (e env) EventProbes() error                     { return e.without }
func (e env) RawArguments(*syntax.AttachPoint) error { return e.without }
func (e env) Tasks() error                           { return e.noTasks }

func (env) Text(_ *syntax.AttachPoint, field string) bool { return field != "buf" }

func (env) Result(*syntax.AttachPoint) (*types.Type, error) { return nil, nil }

func (e env) Type(t *syntax.TypeExpr) (*types.Type, error) { return e.Scope.Resolve(t) }

func (env) Symbol(string, *syntax.AttachPoint) (uint64, int, error) {
	return 0, 0, errors.New("no symbols")
}

func (env) Register(name string) bool { return name == "di" }

func (env) Cgroup(string) (uint64, error) { return 0, errors.New("no cgroups") }

// planned plans a text.
func planned(t *testing.T, text string) ([]*Event, []*syntax.Error) {
	t.Helper()
	prog, host := checked(t, text)
	return Make(prog, host)
}

// checked checks a text.
func checked(t *testing.T, text string) (*check.Program, env) {
	t.Helper()
	parsed, err := syntax.Parse("", text, syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	scope, err := ctypes.New(parsed, nil)
	if err != nil {
		t.Fatal(err)
	}
	prog, err := check.Check(parsed, check.Options{Env: env{Scope: scope}, CPUs: 1, Unsafe: true})
	if err != nil {
		t.Fatal(err)
	}
	return prog, env{Scope: scope, noTasks: errors.New("there is no memory")}
}

// describe is a line for an event, and one for each use with the places of its values.
func describe(events []*Event) string {
	var s strings.Builder
	for _, e := range events {
		fmt.Fprintln(&s, e)
		for _, use := range e.Uses {
			fmt.Fprintf(&s, " %d", use.Clause)
			for _, f := range use.Fields {
				fmt.Fprintf(&s, " %s", strings.TrimSuffix([]string{"", "text:", "kstack", "ustack", "func", "process", "memory:"}[f.From]+f.Name, ":"))
			}
			fmt.Fprintln(&s)
		}
	}
	return s.String()
}

func TestEachPlaceHasOneEventWithWhatItsClausesTake(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`begin { exit(); } interval:s:1 { }`, ""},
		{`uprobe:/bin/bash:readline { printf("%s", str(arg0)); }`, "p:/bin/bash:readline v0=+0($arg1):string\n 0 v0\n"},
		{`uretprobe:/bin/bash:readline { @[str(retval)] = count(); }`, "r:/bin/bash:readline v0=+0($retval):string\n 0 v0\n"},
		{`uprobe:libc:malloc { @ = sum(arg0); } uprobe:libc:malloc { print((arg0, arg1)); }`,
			"p:libc:malloc v0=$arg1:u64 v1=$arg2:u64\n 0 v0\n 1 v0 v1\n"},
		{`uprobe:/bin/a:"ns::f(int)" { @ = count(); }`, "p:/bin/a:ns::f(int)\n 0\n"},
		{`uprobe:"/bin/a b":f { @ = count(); }`, "p:\"/bin/a b\":f\n 0\n"},
		{`uprobe:/bin/a:f { print(reg("di")); }`, "p:/bin/a:f v0=%di:u64\n 0 v0\n"},
		{`struct a { int x; struct b *next; }; struct b { long y; char s[8]; };
		  uprobe:/bin/a:f { $a = (struct a *)arg0; print($a->x); print($a->next->y); }`,
			"p:/bin/a:f v0=+0($arg1):s32 v1=+0(+8($arg1)):s64\n 0 v0 v1\n"},
		{`rawtracepoint:sys:hit { print((arg0, arg1, args.first, args.second, *(uint16 *)arg1)); }`,
			"p:__traceiter_hit v0=$arg2:u32 v1=$arg3:u64 v2=$arg2:s32 v3=+0($arg3):u16\n 0 v0 v1 v2 v1 v3\n"},
		{`rawtracepoint:sys:hit { @ = count(); }`, "sys:hit\n 0\n"},
		{`kprobe:vfs_read /arg2 > 0/ { @[kstack] = count(); }`, "p:vfs_read v0=$arg3:u64\n 0 v0 kstack\n"},
		{`kprobe:vfs_* { @[probe, ustack(3)] = count(); }`, "p:vfs_*\n 0 ustack\n"},
		{`kretprobe:vfs_read { @ = hist(retval); }`, "r:vfs_read v0=$retval:u64\n 0 v0\n"},
		{`fentry:f { print(args.second); }`, "p:f v0=$arg2:u64\n 0 v0\n"},
		{`uprobe:/bin/a:f { print((args.n, str(args.name))); }`, "p:/bin/a:f v0=n:s32 v1=+0($arg2):string\n 0 v0 v1\n"},
		{`struct a { int x; int y; }; uprobe:/bin/a:f { print(((struct a *)args.name)->y); }`, "p:/bin/a:f v0=+4($arg2):s32\n 0 v0\n"},
		{`struct a { int x; struct a *next; }; kprobe:f { print(*(uint64 *)0xffffffff81000008); print(str(0xffffffff81000000)); print(((struct a *)0xffffffff81000000)->next->x); }`,
			"p:f v0=@0xffffffff81000008:u64 v1=@0xffffffff81000000:string v2=+0(@0xffffffff81000008):s32\n 0 v0 v1 v2\n"},
		{`kprobe:f+4 { } k:f { }`, "p:f+4\n 0\np:f\n 1\n"},
		{`tracepoint:syscalls:sys_enter_openat { printf("%d %s", args.dfd, str(args.filename)); }`,
			"syscalls:sys_enter_openat\n 0 dfd text:filename\n"},
		{`tracepoint:syscalls:sys_enter_write { print(str(args.buf)); print(buf(args.buf, args.dfd)); print(str(args.filename, args.dfd)); }`,
			"syscalls:sys_enter_write\n 0 memory:buf dfd memory:buf text:filename\n"},
		{`tracepoint:sched:sched_switch { print(numaid); }`, "sched:sched_switch\n 0 process\n"},
		{`profile:hz:99 { print((usermode, numaid)); }`, "cpu-clock, 99 times a second on each CPU\n 0 process process\n"},
		{`usdt:/bin/a:p:n { print(arg0); print(str(arg1)); }`, "u:/bin/a:p:n v0=$arg1 v1=+0($arg2):string\n 0 v0 v1\n"},
		{`usdt:/bin/a:n { }`, "u:/bin/a:*:n\n 0\n"},
		{`profile:hz:99 { @[kstack, ustack] = count(); }`, "cpu-clock, 99 times a second on each CPU\n 0 kstack ustack\n"},
		{`profile:ms:10 { }`, "cpu-clock, each 10ms on each CPU\n 0\n"},
		{`software:page-faults:1e3 { @ = count(); }`, "page-faults, one of 1000\n 0\n"},
		{`software:faults { } s:page-faults:150 { } s:cs:1 { }`, "page-faults, one of 50\n 0\n 1\ncontext-switches, one of 1\n 2\n"},
		{`software:cpu:100000 { } s:cpu-clock:90001 { }`, "cpu-clock, one of 100000\n 0\ncpu-clock, one of 90001\n 1\n"},
		{`hardware:cache-misses { }`, "cache-misses, one of 1000000\n 0\n"},
		{`watchpoint:0x1000:8:rw { }`, "mem:0x1000/8:rw\n 0\n"},
	} {
		events, errs := planned(t, test.text)
		if len(errs) > 0 || describe(events) != test.want {
			t.Errorf("%s\n%v\n%swant\n%s", test.text, errs, describe(events), test.want)
		}
	}
}

func TestEventProbesFetchWhatIsBehindTheFieldsOfTracepoints(t *testing.T) {
	const text = `struct a { int x; struct a *next; char name[8]; };
tracepoint:kernel:b { $a = (struct a *)args.where; print($a->x); print($a->next->name); print(str($a->next)); print(args.where); print($a->x); print(*0xffffffff81000000); }
tracepoint:kernel:b { print(buf(args.where, 4)); } tracepoint:kernel:c { print(args.where); }`
	prog, host := checked(t, text)
	events, errs := Make(prog, host)
	if len(errs) > 0 || len(events) != 2 {
		t.Fatalf("%v, %v", events, errs)
	}
	const want = "v0=$where:u64 v1=+0($where):s32 v2=+16(+8($where)):u8[8] v3=+0(+8($where)):string v4=@0xffffffff81000000:u64 v5=+0($where):u8[4]"
	b := events[0].Behind
	if got := b.String(); got != want || !slices.Equal(b.Same, []Same{{"where", "v0"}}) {
		t.Errorf("%s, want %s\n%+v", got, want, b.Same)
	}
	if len(events[0].Fetch)+len(events[1].Behind.Fetch) > 0 {
		t.Errorf("%+v", events)
	}
	var from []string
	for _, f := range append(events[0].Uses[0].Fields, events[0].Uses[1].Fields...) {
		from = append(from, fmt.Sprint(f.From == EventProbe)+" "+f.Name)
	}
	if got := strings.Join(from, ", "); got != "false where, true v1, true v2, true v3, true v4, true v5" {
		t.Error(got)
	}
	host.without = errors.New("there are none")
	_, errs = Make(prog, host)
	if len(errs) == 0 || !strings.Contains(errs[0].Error(), "what the field where points to is not in the tracepoint's record, and there are none") {
		t.Errorf("without event probes: %v", errs)
	}
}

func TestWhatCannotBeAttachedIsRefusedAtItsPoint(t *testing.T) {
	for text, want := range map[string]string{
		`profile:hz:0 { }`:                                "1:1: a profile takes 1 to 100000 samples a second",
		`profile:hours:1 { }`:                             "1:1: a profile is ",
		`watchpoint:0x10:3:w { }`:                         "1:1: a watchpoint is ",
		`software:faults:x { }`:                           `1:1: "x" is no count`,
		`uprobe:/bin/a:f { print(str(args.stacked)); }`:   "1:25: args.stacked is in no register, so it is not followed",
		`rawtracepoint:sys:hit { print(arg2); }`:          "1:31: rawtracepoint:sys:hit has 2 arguments",
		"begin { }\nkprobe:f { print(buf(arg0, 4096)); }": "2:18: ",
	} {
		_, errs := planned(t, text)
		var found []string
		for _, err := range errs {
			found = append(found, strings.TrimPrefix(err.Error(), "stdin:"))
		}
		if !slices.ContainsFunc(found, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("%s: %q, want %q", text, found, want)
		}
	}
}

func TestTheKernelIsNoModule(t *testing.T) {
	for point, want := range map[string]string{
		"kprobe:vmlinux:vfs_read": "p:vfs_read",
		"fexit:vmlinu*:vfs_read":  "r:vfs_read",
		"kprobe:ext4:ext4_sync*":  "p:ext4:ext4_sync*",
	} {
		events, errs := planned(t, point+" { @ = count(); }")
		if len(errs) > 0 || len(events) != 1 || events[0].Definition != want {
			t.Errorf("%s: %v, %v, want %s", point, events, errs, want)
		}
	}
}

func TestAReturnTakesArgumentsFromTheEntry(t *testing.T) {
	events, errs := planned(t, "fexit:f { @[args.first, retval] = count(); }")
	if len(errs) > 0 || len(events) != 2 || events[0].Entry != events[1] {
		t.Fatalf("%v, %v", events, errs)
	}
	fields := events[0].Uses[0].Fields
	if got := fmt.Sprint(events[0], "; ", events[1]); got != "r:f v0=$retval:u64; p:f v0=$arg1:s32" || len(events[1].Uses) != 0 ||
		fields[0].From != Entry || fields[1].From != Record {
		t.Errorf("%s: %+v", got, fields)
	}
	if events, errs = planned(t, "kprobe:f { @[arg1] = count(); } fexit:f { @[args.first] = count(); }"); len(errs) > 0 || len(events) != 2 || events[1].Entry != events[0] {
		t.Errorf("beside an entry: %v, %v", events, errs)
	}
}

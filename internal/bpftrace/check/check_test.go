package check

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// testEnv is a kernel with one struct and one tracepoint.
type testEnv struct{ unknownHost }

var list = &types.Type{Kind: types.Struct, Name: "struct node", Size: 40, Fields: []types.Field{
	{Name: "next", Type: &types.Type{Kind: types.Pointer, Size: 8, Elem: &types.Type{Kind: types.Struct, Name: "struct node", Size: 40}}},
	{Name: "n", Type: types.Int32, Offset: 8},
	{Name: "flags", Type: types.Uint32, Offset: 12, BitOffset: 3, Bits: 5},
	{Name: "comm", Type: &types.Type{Kind: types.Array, Elem: types.Int8, Len: 16, Size: 16}, Offset: 16},
	{Name: "pair", Type: &types.Type{Kind: types.Array, Elem: types.Uint32, Len: 2, Size: 8}, Offset: 32},
}}

var taskStruct = func() *types.Type {
	task := &types.Type{Kind: types.Struct, Name: "struct task_struct", Size: 64}
	pointer := &types.Type{Kind: types.Pointer, Size: 8, Elem: task}
	task.Fields = []types.Field{
		{Name: "pid", Type: types.Int32}, {Name: "tgid", Type: types.Int32, Offset: 4}, {Name: "utime", Type: types.Uint64, Offset: 8},
		{Name: "real_parent", Type: pointer, Offset: 16}, {Name: "group_leader", Type: pointer, Offset: 24},
		{Name: "comm", Type: &types.Type{Kind: types.Array, Elem: types.Int8, Len: 16, Size: 16}, Offset: 32},
	}
	return task
}()

func (testEnv) Resolve(t *syntax.TypeExpr) (*types.Type, error) {
	if t.Base == "struct task_struct" {
		return taskStruct, nil
	}
	if t.Base == "struct task" && len(t.Modifiers) == 1 {
		task := &types.Type{Kind: types.Struct, Name: t.Base, Size: 16}
		pointer := &types.Type{Kind: types.Pointer, Size: 8, Elem: task}
		task.Fields = []types.Field{{Name: "pid", Type: types.Int32, Offset: 4}, {Name: "group_leader", Type: pointer, Offset: 8}}
		return pointer, nil
	}
	if t.Base != "struct node" {
		return nil, fmt.Errorf("no type is named %s", t.Base)
	}
	u := list
	for range t.Modifiers {
		u = &types.Type{Kind: types.Pointer, Size: 8, Elem: u}
	}
	return u, nil
}

func (testEnv) Complete(t *types.Type) *types.Type {
	if t.Name == list.Name {
		return list
	}
	return t
}

func (testEnv) Args(p *syntax.AttachPoint) (*types.Type, error) {
	if p.Provider != "tracepoint" {
		return nil, errors.New("it has no debugging information")
	}
	if p.Args[0] == "secret" {
		return nil, fs.ErrPermission
	}
	return &types.Type{Kind: types.Struct, Name: "args", Size: 16, Fields: []types.Field{
		{Name: "filename", Type: &types.Type{Kind: types.Pointer, Size: 8, Elem: types.Int8, User: true}},
		{Name: "flags", Type: types.Int32, Offset: 8},
	}}, nil
}

func (testEnv) Symbol(name string, p *syntax.AttachPoint) (uint64, int, error) {
	if p == nil {
		return 0xffffffff81000000, 0, nil
	}
	return 0x1000, 4, nil
}

func program(t testing.TB, text string, opts Options) (*Program, error) {
	t.Helper()
	p, err := syntax.Parse("", text, syntax.Options{})
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	opts.Env = testEnv{}
	return Check(p, opts)
}

func TestSourcesAreWhatAClauseReadsFromItsHit(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`kprobe:f { print(str(arg0)) }`, "arg0 text 1025"},
		{`kprobe:f { print(str(arg0, 16)) }`, "arg0 text 16"},
		{`kprobe:f { let $p : int32 *; $p = (int32 *)arg0; print(*$p) }`, "arg0 +0* int32"},
		{`kprobe:f { let $p : int32 *; if (arg1) { $p = (int32 *)arg0; } print(*$p) }`, "arg1 uint64; arg0 uint64"},
		{`kprobe:f { print(str(arg0, 0)); print(str(arg1, 1024)); print(str(arg2, 1025)) }`, "arg0 text 1; arg1 text 1024; arg2 text 1025"},
		{`kprobe:f { print(buf(arg1, 8)) }`, "arg1 bytes 8"},
		{`kprobe:f { print(arg0); print(arg0 + 1) }`, "arg0 uint64"},
		{`kprobe:f { print(*(uint32 *)(arg1 + 8)) }`, "arg1 +8* uint32"},
		{`kprobe:f { print(((struct node *)arg0)->n) }`, "arg0 +8* int32"},
		{`kprobe:f { print(((struct node *)arg0).next.next->n) }`, "arg0 +0* +0* +8* int32"},
		{`kprobe:f { $n = (struct node *)arg0; $m = $n->next; print($m->comm) }`, "arg0 +0* +16* string"},
		{`kprobe:f { $n = (struct node *)arg0; $n = $n->next; print($n->n) }`, "arg0 uint64"},
		{`kprobe:f { print(((struct node *)arg0)->pair[1]) }`, "arg0 +36* uint32"},
		{`kprobe:f { print(container_of(arg0, struct node, pair).n) }`, "arg0 -24* int32"},
		{`kprobe:f { print(leader_tid((struct task *)arg0)) }`, "arg0 +8* +4* int32"},
		{`tracepoint:a:b { print(args) }`, "args.filename int8 *; args.flags int32"},
		{`tracepoint:a:b { $a = args; print($a.flags); @ = args }`, "args.filename int8 *; args.flags int32"},
		{`kprobe:f { $i = arg1; print(((struct node *)arg0)->pair[$i]) }`, "arg1 uint64; arg0 +32* uint32[2]"},
		{`kprobe:f { print((int64)((struct node *)arg0)->pair) }`, "arg0 +32* uint32[2]"},
		{`kprobe:f { print(((struct node *)arg0)->pair == ((struct node *)arg1)->pair) }`, "arg0 +32* uint32[2]; arg1 +32* uint32[2]"},
		{`kprobe:f { print(((struct node *)arg0)->flags) }`, "arg0 +12* uint32"},
		{`kprobe:f { print(((struct node *)arg0 + 2)->n) }`, "arg0 +88* int32"},
		{`tracepoint:a:b { print(str(args.filename)); print(args.flags) }`, "args.filename text 1025; args.flags int32"},
		{`tracepoint:a:b /args->flags == 1/ { @[kstack(3), ustack(perf)] = count() }`, "args.flags int32; kstack bpftrace 3; ustack perf 0"},
		{`kretprobe:f { print(retval); print(uid) }`, "retval uint64; uid uint64"},
		{`uprobe:/bin/a:f { print(reg("ip")); print(func) }`, `reg("ip") uint64; func usym`},
		{`interval:s:1 { print(*kaddr("jiffies")) }`, "0xffffffff81000000 +0* uint64"},
		{`interval:s:1 { $a = kaddr("avenrun"); print(*($a + 8)) }`, "0xffffffff81000000 +8* uint64"},
		{`interval:s:1 { print(((struct node *)kaddr("list"))->next->n) }`, "0xffffffff81000000 +0* +8* int32"},
		{`uprobe:/bin/a:f { print(*uaddr("counter")) }`, `uaddr("counter") +0* uint32`},
		{`begin { print(pid) }`, ""},
		{`uprobe:/bin/a:f { print(usermode) }`, ""},
		{`kprobe:f { print(curtask.pid); print(curtask.comm); print(curtask->tgid) }`, "curtask +0* int32; curtask +32* string; curtask +4* int32"},
		{`kprobe:f { print(curtask.real_parent.tgid); print(curtask.real_parent.comm) }`, "curtask +16* +4* int32; curtask +16* +32* string"},
		{`kprobe:f { $t = curtask; print($t.group_leader.pid); print($t.group_leader.comm) }`, "curtask +24* +0* int32; curtask +24* +32* string"},
		{`kprobe:f { print(curtask.utime) }`, "curtask +8* uint64"},
	} {
		p, err := program(t, test.text, Options{})
		if err != nil {
			t.Errorf("%s\n%v", test.text, err)
			continue
		}
		var all []string
		for _, s := range p.Clauses[0].Sources {
			all = append(all, sourceText(s))
		}
		got := strings.Join(all, "; ")
		if got != test.want {
			t.Errorf("%s\nreads %q\nnot   %q", test.text, got, test.want)
		}
	}
}

func sourceText(s *Source) string {
	out := s.Title()
	for i, step := range s.Path {
		out += fmt.Sprintf(" %+d", step.Offset)
		if step.Deref || s.Form == Plain && i == len(s.Path)-1 {
			out += "*"
		}
	}
	switch s.Form {
	case Text:
		return fmt.Sprintf("%s text %d", out, s.Size)
	case Bytes:
		return fmt.Sprintf("%s bytes %d", out, s.Size)
	}
	if s.Type.Kind == types.KStack || s.Type.Kind == types.UStack {
		return fmt.Sprintf("%s %s %d", out, s.Type.Mode, s.Type.Limit)
	}
	return out + " " + describe(s.Type)
}

func TestWrongProgramsAreRefusedAtTheirPlace(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`begin { print($x) }`, "1:15: variable $x has no value here (a variable ends with its probe, a map does not: @x)"},
		{`begin { prnt(1) }`, "1:9: no function is named prnt (did you mean print?)"},
		{`begin { @ = coun() }`, "1:13: no function is named coun (did you mean count?)"},
		{`begin { print(O_CREAT) }`, "1:15: nothing is named O_CREAT (#include <linux/fcntl.h> defines it)"},
		{`begin { print(pidd) }`, "1:15: nothing is named pidd (did you mean pid?)"},
		{`begin { @x = 1; @x = "s" }`, "1:17: @x holds int8, not string"},
		{`begin { @x = 1; @x[1] = 1 }`, "1:17: @x has no keys elsewhere"},
		{`begin { @x[1] = 1; @x["a"] = 1 }`, "1:20: the key of @x is int8, not string"},
		{`begin { @x = count(); @x = 1 }`, "1:23: @x holds count(), so only count() can be assigned"},
		{`begin { @x = count(); @x = sum(1) }`, "1:23: @x holds count(), not sum()"},
		{`begin { $a = 1; $a = "s" }`, "1:17: $a holds int8, not string"},
		{`begin { print("a" == 1) }`, "1:19: == cannot be used on string and int8"},
		{`begin { print(1 / 0) }`, "1:17: division by 0"},
		{`begin { print(18446744073709551615 + 1) }`, "1:36: the result does not fit 64 bits"},
		{`begin { let $a : uint16 = -1 }`, "1:27: -1 does not fit uint16 (cast it: (uint16))"},
		{`begin { print(arg0) }`, "1:15: arg0 has no meaning in begin (it works with kprobe, uprobe, usdt, rawtracepoint, watchpoint, asyncwatchpoint)"},
		{`kprobe:f { print(retval) }`, "1:18: retval has no meaning in kprobe (it works with kretprobe, uretprobe, fexit)"},
		{`kprobe:f, uprobe:/bin/a:f { print(func) }`, "1:35: func is a symbol of the kernel at some of these probes and of a program at others (give the kernel's functions a clause of their own)"},
		{`kprobe:f { @f = ""; @f = func }`, "1:21: @f holds string, not ksym"},
		{`kprobe:f { print(func == 1) }`, "1:23: == cannot be used on ksym and int8"},
		{`tracepoint:a:b { print(args.flag) }`, "1:28: tracepoint:a:b has no argument flag (did you mean flags?)"},
		{`kprobe:f { print(((struct node *)arg0)->nn) }`, "1:39: struct node has no member nn (did you mean n?)"},
		{`begin { system("ls") }`, "1:9: system() changes the host (use --unsafe)"},
		{`kprobe:f { override(1) }`, "1:12: override() needs BPF, which ringtap does without"},
		{`begin { printf("%d\n") }`, "1:9: printf: Not enough arguments for format string (0 supplied, 1 expected)"},
		{`begin { break }`, "1:9: break stands outside of a loop"},
		{`begin { unroll($1) { } }`, "1:16: unroll minimum value is 1"},
		{`begin { unroll(101) { } }`, "1:16: unroll maximum value is 100"},
		{`kprobe:f { unroll(arg0) { } }`, "1:19: unroll takes a constant from 1 to 100"},
		{`begin { @g = 2; print(has_key(@g, 2)) }`, "1:31: call to has_key() expects a map with explicit keys: @g has none"},
		{`begin { @g = 2; print(len(@g)) }`, "1:23: call to len() expects a map with explicit keys (non-scalar map): @g has none"},
		{`begin { print(@never) }`, "1:15: no statement says what @never holds (assign @never a value somewhere)"},
		{`macro m() { @x = 1 } begin { m() }`, "1:13: macro m uses the map @x, which it does not get as an argument"},
		{`macro m(x) { m(x) } begin { m(1) }`, "1:14: macro m calls itself without end, or expands too often"},
		{`begin { let $x = 1; if (1) { let $x = 2 } }`, "1:34: variable $x is there already: a block cannot hide it"},
		{`begin { @l = lhist(1, 10, 0, 1) }`, "1:14: lhist() takes a minimum (10) below the maximum (0)"},
		{`begin { while (1) { print(1 + { break; 2 }) } }`, "1:33: break stands in the middle of a statement (give the block to a variable of its own before: $x = { … };)"},
		{`begin { @x[{ return; 1 }] = 5 }`, "1:14: return stands in the middle of a statement (give the block to a variable of its own before: $x = { … };)"},
		{`macro m() { return; } begin { m() }`, "1:13: return cannot leave macro m (a function can: fn m(…))"},
		{`macro m() { break; } begin { while (1) { m() } }`, "1:13: break cannot leave macro m (a function can: fn m(…))"},
		{`begin { $x = 1; print(&$x) }`, "1:23: a variable has no address: it is not in BPF's memory (use the variable itself)"},
		{`begin { @x = 1; print(&@x) }`, "1:23: a map has no address: it is not in BPF's memory (name the map itself)"},
		{`kprobe:f { print(((struct node)arg0).n) }`, "1:19: uint64 cannot be cast to struct node itself (cast to a pointer: (struct node *))"},
		{`begin { print(config.max_strln) }`, "1:21: this record has no max_strln (did you mean max_strlen?)"},
		{`begin { assert_str(5) }`, "1:20: int8 is no string, and no array or pointer of characters"},
		{`begin { container_of(1, 2, 3) }`, "1:9: container_of() takes a pointer, a type and a member of it (container_of($pointer, struct NAME, member))"},
		{`begin { print(has_field(5)) }`, "1:15: has_field() takes args.NAME or a member of a struct"},
		{`begin { print(has_field(pid.x)) }`, "1:15: has_field() takes args.NAME or a member of a struct"},
		{`begin { print(has_field($x.y)) }`, "1:25: variable $x has no value here (a variable ends with its probe, a map does not: @x)"},
		{`kprobe:f /comptime (arg0)/ { }`, "1:11: this is not a constant"},
		{`kprobe:f /comptime (has_field(((struct node *)arg0)->flags))/ { print(nothing) }`, "1:71: nothing is named nothing"},
		{`tracepoint:a:b { if comptime (!has_field(args.flag)) { print(args.flags) } else { print(args.flag) } print(args.fla) }`,
			"1:112: tracepoint:a:b has no argument fla (it has filename, flags)"},
		{`begin { pid(other) }`, "1:13: pid() takes a mode (modes are curr_ns, init)"},
		{`begin { static_assert(1 == 2, "no") }`, "1:9: no"},
	} {
		_, err := program(t, test.text, Options{})
		var list *syntax.Errors
		if !errors.As(err, &list) {
			t.Errorf("%s: no errors but %v", test.text, err)
			continue
		}
		e := list.List[0]
		got := fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Msg)
		if e.Hint != "" {
			got += " (" + e.Hint + ")"
		}
		if got != test.want {
			t.Errorf("%s\nsays %s\nnot  %s", test.text, got, test.want)
		}
	}
}

// What stands where a member is not there need not be right.
func TestProgramsChooseByTheMembersOfStructs(t *testing.T) {
	for text, clauses := range map[string]int{
		`kprobe:f { $n = (struct node *)arg0; if comptime (has_field($n->none)) { print($n->none) } }`:   1,
		`kprobe:f { $n = (struct node *)arg0; if comptime (!has_field($n->flags)) { print($n->none) } }`: 1,
		`kprobe:f { if comptime (has_field((*(struct node *)arg0).none)) { print(nothing) } }`:           1,
		`kprobe:f /comptime (has_field(((struct node *)arg0)->none))/ { print(nothing) }`:                0,
		`kprobe:f /comptime (has_field(((struct node *)arg0)->flags))/ { print(1) }`:                     1,
		`kprobe:f /comptime (getopt("o", false))/ { print(nothing) } kprobe:f { print(1) }`:              1,
		`macro o() { getopt("o", false) } kprobe:f /comptime (o())/ { print(nothing) }`:                  0,
	} {
		p, err := program(t, text, Options{})
		if err != nil || len(p.Clauses) != clauses {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestMapsOfProbesThatAreLeftOutHaveAReason(t *testing.T) {
	gone, err := syntax.Parse("", "tracepoint:no:such, tracepoint:no:other { @x[tid] = 1; } tracepoint:no:third { @xy = 1; }", syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"begin { print(@x) }":  "ERROR: this kernel has none of tracepoint:no:such, tracepoint:no:other, and nothing else says what @x holds",
		"begin { print(@) }":   "ERROR: no statement says what @ holds",
		"begin { print(@yx) }": "ERROR: no statement says what @yx holds",
	} {
		if _, err := program(t, text, Options{LeftOut: gone.Probes}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: not %q but\n%v", text, want, err)
		}
	}
}

func TestAllErrorsOfAProgramAreSaidAtOnce(t *testing.T) {
	_, err := program(t, "begin { prnt(1);\n $u; }\nkprobe:f { print(retval) }", Options{})
	var list *syntax.Errors
	if !errors.As(err, &list) || len(list.List) != 3 {
		t.Fatalf("not three errors: %v", err)
	}
}

func TestArgumentsThatMayNotBeReadAreSaidOnce(t *testing.T) {
	_, err := program(t, "tracepoint:secret:a { print(args.x); print(args.y) } tracepoint:secret:b { print(args.z) }", Options{})
	if err == nil || strings.Count(err.Error(), "ERROR") != 1 || strings.Contains(err.Error(), "arg0") {
		t.Errorf("%v", err)
	}
}

func TestMacrosThatMultiplyAreBounded(t *testing.T) {
	text := strings.Repeat("m(", 40) + "1" + strings.Repeat(")", 40)
	_, err := program(t, "macro m(x) { x + x } begin { print("+text+") }", Options{})
	if err == nil || !strings.Contains(err.Error(), "expressions when its macros are expanded") {
		t.Fatalf("the program is no error but %v", err)
	}
}

func TestMapsThatBeginWithTheirOwnChangeHoldIntegers(t *testing.T) {
	for text, want := range map[string]string{
		`@x = @x + 1`:                    "int64",
		`@x = @x + (uint32)5 * 512`:      "uint64",
		`@x = 2 * @x`:                    "int64",
		`@x = @x - (uint64)1`:            "int64",
		`@x[pid] = @x[pid] + nsecs + 1`:  "uint64",
		`@x = @x / 2; print(@x / 1024)`:  "int64",
		`@x = @x | 1; @x = (uint64)1`:    "int64",
		`print(@x + 1); @x = @x + nsecs`: "uint64",
	} {
		p, err := program(t, "begin { "+text+" }", Options{})
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		if got := describe(p.Maps[0].Value); got != want {
			t.Errorf("%s: @x is %s, not %s", text, got, want)
		}
	}
	for _, text := range []string{`@x = @x`, `@x = @x == 1`, `@x = @x + @x`} {
		if _, err := program(t, "begin { "+text+" }", Options{}); err == nil || !strings.Contains(err.Error(), "no statement says what @x holds") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestDivisionsOfSignedNumbersAreWarnedOf(t *testing.T) {
	for text, want := range map[string]int{
		`@s = nsecs; print((nsecs - @s) / 1000)`:        0,
		`$a = nsecs; print((nsecs - $a) % 1000)`:        0,
		`@s = nsecs; print((nsecs - @s - 1) / 1000)`:    1,
		`@s = -5; print((@s - 1) / 1000)`:               1,
		`@s = (int64)5; print((nsecs - @s) / 1000)`:     1,
		`@s = nsecs; print((nsecs - @s) / (uint64)@s)`:  1,
		`@s = nsecs; @t = nsecs; print(@s / @t / 1000)`: 0,
	} {
		p, err := program(t, "begin { "+text+" }", Options{})
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		if len(p.Warnings) != want {
			t.Errorf("%s: %d warnings, want %d: %v", text, len(p.Warnings), want, p.Warnings)
		}
	}
}

func TestTypesAreTheSmallestThatHoldAllValues(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`$a = 1; $a = (uint64)2`, "uint64"},
		{`$a = 1; $a = -1000`, "int16"},
		{`$a = (uint64)1; $a = (int64)-1`, "int64"},
		{`$a = (uint8)1; $a = (int8)1`, "int16"},
		{`$a = 1; $a = $a + 1`, "int64"},
		{`$a = (uint32)1; $a++`, "uint64"},
		{`$a = (1, "x"); $a = (1000, "xyz")`, "(int16,string)"},
		{`$a = 1 == 2`, "bool"},
		{`$a = 18446744073709551615`, "uint64"},
		{`$a = (uint64)1 - (uint64)2`, "int64"},
		{`$a = pid`, "uint32"},
	} {
		p, err := program(t, "begin { "+test.text+" }", Options{})
		if err != nil {
			t.Errorf("%s\n%v", test.text, err)
			continue
		}
		if got := describe(p.Clauses[0].Vars[0].Type); got != test.want {
			t.Errorf("%s: $a is %s, not %s", test.text, got, test.want)
		}
	}
}

func TestOptionsOfTheProgramComeFromGetopt(t *testing.T) {
	p, err := program(t, `begin { print(getopt("n", 5, "how many")); print(getopt("v")) }`, Options{Named: map[string]string{"n": "7"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Options) != 2 || p.Options[0].Default != "5" || p.Options[0].Help != "how many" {
		t.Errorf("options are %+v", p.Options)
	}
	k := p.Clauses[0].Body.Stmts[0].(*Do).X.(*Call).Args[0].(*Const)
	if k.N != 7 {
		t.Errorf("--n=7 is %d", k.N)
	}
}

func TestOptionsAreNumbersAndTruthsInAnySpelling(t *testing.T) {
	for _, test := range []struct {
		fallback, value string
		want            int64
		wrong           bool
	}{
		{"true", "", 1, false},
		{"true", "True", 1, false},
		{"true", "False", 0, false},
		{"true", "maybe", 0, true},
		{"5", "0xffffffffffffffff", -1, false},
		{"5", "-0x10", -16, false},
		{"5", "18446744073709551616", 0, true},
		{"5", "", 0, true},
	} {
		p, err := program(t, `begin { print(getopt("o", `+test.fallback+`)) }`, Options{Named: map[string]string{"o": test.value}})
		if err != nil || test.wrong {
			if (err != nil) != test.wrong {
				t.Errorf("%q: %v", test.value, err)
			}
			continue
		}
		if k := p.Clauses[0].Body.Stmts[0].(*Do).X.(*Call).Args[0].(*Const); int64(k.N) != test.want {
			t.Errorf("%q is %d, want %d", test.value, int64(k.N), test.want)
		}
	}
}

func TestTheModeIsKnownAtFunctions(t *testing.T) {
	for text, want := range map[string]int{
		`uprobe:/p:f { print(usermode) }`:                 0,
		`kprobe:f { print(usermode) }`:                    0,
		`profile:hz:99 { print(usermode) }`:               1,
		`kprobe:f, uprobe:/p:f { print(usermode) }`:       1,
		`uprobe:/p:f, uretprobe:/p:f { print(usermode) }`: 0,
	} {
		p, err := program(t, text, Options{})
		if err != nil || len(p.Clauses[0].Sources) != want {
			t.Errorf("%s: %v, %+v", text, err, p)
		}
	}
}

func TestStatementsThatNeverRunAreWarnedOf(t *testing.T) {
	for text, want := range map[string]int{
		`exit(); print(1)`:                           1,
		`if (pid) { return; print(1) } print(2)`:     1,
		`while (1) { break; print(1) }`:              1,
		`if (pid) { exit(); } print(1); exit()`:      0,
		`if (pid) { return } else { return } @ = 1;`: 0,
	} {
		p, err := program(t, "begin { "+text+" }", Options{})
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		if len(p.Warnings) != want {
			t.Errorf("%s: %d warnings, want %d: %v", text, len(p.Warnings), want, p.Warnings)
		}
	}
}

package ctypes

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/host/btf"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// typeOf parses a type as a program's let has it.
func typeOf(t *testing.T, definitions, text string) (*syntax.Program, *syntax.TypeExpr) {
	t.Helper()
	p, err := syntax.Parse("", definitions+" begin { let $x : "+text+"; }", syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p, p.Probes[0].Body.Stmts[0].(*syntax.Let).Type
}

// spell writes a type for comparison.
func spell(t *types.Type) string {
	switch t.Kind {
	case types.None:
		return "void"
	case types.Bool:
		return "bool"
	case types.Int:
		name := fmt.Sprintf("int%d", 8*t.Size)
		if !t.Signed {
			name = "u" + name
		}
		if t.Name != "" {
			name += " of " + t.Name
		}
		return name
	case types.Pointer:
		return spell(t.Elem) + "*"
	case types.Array:
		return fmt.Sprintf("%s[%d]", spell(t.Elem), t.Len)
	case types.String:
		return fmt.Sprintf("string(%d)", t.Size)
	case types.Buffer:
		return fmt.Sprintf("buffer(%d)", t.Size)
	case types.Struct:
		return fmt.Sprintf("%s{%d}", t.Name, len(t.Fields))
	}
	return fmt.Sprint("kind ", t.Kind)
}

func TestTypesResolve(t *testing.T) {
	const definitions = `struct a { int x; struct a *next; }; union u { int i; char c[8]; };
		enum e { X, Y }; enum f { Z = -1 }; typedef struct a *ap; typedef int matrix[2][3]; typedef matrix m2;
		typedef unsigned int uint; typedef void (*callback)(int); typedef struct { int q; } anon;`
	tests := []struct{ text, want string }{
		{"int8", "int8"}, {"uint64", "uint64"}, {"int", "int32"}, {"char", "int8"}, {"unsigned char", "uint8"},
		{"unsigned long", "uint64"}, {"long unsigned int", "uint64"}, {"long long", "int64"}, {"unsigned", "uint32"},
		{"const unsigned short int", "uint16"}, {"size_t", "uint64"}, {"u32", "uint32"}, {"__u64", "uint64"},
		{"pid_t", "int32"}, {"uint64_t", "uint64"}, {"bool", "bool"}, {"void*", "void*"}, {"int32*[4]", "int32*[4]"},
		{"int32[4]*", "int32[4]*"}, {"int8[]", "int8[0]"}, {"string", "string(0)"}, {"string[64]", "string(64)"},
		{"string[64][2]", "string(64)[2]"}, {"buffer[10]", "buffer(10)"}, {"struct a", "struct a{2}"},
		{"struct a*", "struct a{2}*"}, {"struct a**", "struct a{2}**"}, {"union u", "union u{2}"}, {"enum e", "uint32 of enum e"},
		{"enum f", "int32 of enum f"}, {"ap", "struct a{2}*"}, {"matrix", "int32[3][2]"}, {"m2*", "int32[3][2]*"},
		{"uint", "uint32"}, {"callback", "void*"}, {"struct unknown*", "struct unknown{0}*"}, {"double", "uint8[8]"},
		{"anon", "struct (anonymous 1){1}"},
	}
	for _, test := range tests {
		p, expr := typeOf(t, definitions, test.text)
		scope, err := New(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := scope.Resolve(expr)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
		} else if spell(got) != test.want {
			t.Errorf("%s is %s, not %s", test.text, spell(got), test.want)
		}
	}
}

func TestTypesThatDoNotResolveSayWhy(t *testing.T) {
	tests := []struct{ definitions, text, want, hint string }{
		{"", "int31", "there is no type int31", "Did you mean int32?"},
		{"struct path_a { int x; }", "struct path_b", "there is no type struct path_b", "Did you mean struct path_a?"},
		{"", "struct nothing", "there is no type struct nothing", "The kernel's types are not known here. Define the type in the program."},
		{"", "void[3]", "there are no arrays of void", ""},
		{"", "unsigned double", "there is no type unsigned double", "*"}, {"", "long char", "there is no type long char", "*"},
		{"", "enum nothing", "there is no type enum nothing", "*"},
		{"", "int32[1000000000][1000000000]", "this array is too large", ""},
	}
	for _, test := range tests {
		p, expr := typeOf(t, test.definitions, test.text)
		scope, err := New(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = scope.Resolve(expr)
		var e *syntax.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v is no *syntax.Error", test.text, err)
		} else if e.Msg != test.want || e.Hint != test.hint && test.hint != "*" {
			t.Errorf("%s: %q and %q, not %q and %q", test.text, e.Msg, e.Hint, test.want, test.hint)
		}
	}
}

func TestDefinitionsThatCanNotBeSayWhy(t *testing.T) {
	tests := []struct{ text, want string }{
		{"struct a { struct a x; };", "struct a contains itself"},
		{"struct a { struct b x; }; struct b { struct a x[2]; };", "struct a contains itself"},
		{"struct a { int x; }; struct a { int y; };", "struct a is defined twice"},
		{"struct a { void x; };", "a member can't be void"},
		{"struct a { int x : 33; };", "the bit field x has 33 bits, more than its type"},
		{"struct a { struct b { int i; } x : 3; };", "only integers can be bit fields"},
		{"struct a { string s; };", "a member of a struct can't be of type string"},
		{"struct a { unknown_t s; };", "there is no type unknown_t"},
		{"struct a { char s[1000000000][100]; };", "this array is too large"},
		{"struct a { char s[1000000000]; }; struct b { struct a x, y, z, v, w; };", "struct b is too large"},
	}
	for _, test := range tests {
		p := parse(t, test.text)
		if _, err := New(p, nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, not %q", test.text, err, test.want)
		}
	}
}

func TestOffsetsOfPaths(t *testing.T) {
	p, expr := typeOf(t, "struct in { char c; union { int i; struct { short s; long l; }; }; int b:3; }; struct out { long l; struct in x; struct in *p; };", "struct out")
	scope, err := New(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := scope.Resolve(expr)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		path string
		want int
		err  string
	}{
		{"l", 0, ""}, {"x", 8, ""}, {"x.i", 16, ""}, {"x.s", 16, ""}, {"x.l", 24, ""}, {"p", 40, ""},
		{"x.y", 0, "struct in has no member y"}, {"l.y", 0, "l is no struct or union"},
		{"x.b", 0, "b is a bit field, which has no offset in bytes"}, {"p.c", 0, "p is no struct or union"},
	}
	for _, test := range tests {
		got, err := scope.Offsetof(out, strings.Split(test.path, "."))
		if test.err == "" && (err != nil || got != test.want) || test.err != "" && (err == nil || err.Error() != test.err) {
			t.Errorf("%s is at %d (%v), not %d (%s)", test.path, got, err, test.want, test.err)
		}
	}
}

func TestStructsOfTheProgramReferToThemselves(t *testing.T) {
	p, expr := typeOf(t, "struct a { struct b *b; }; struct b { struct a a; struct b *next; };", "struct b*")
	scope, err := New(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := scope.Resolve(expr)
	if err != nil {
		t.Fatal(err)
	}
	next := b.Elem.Fields[1].Type.Elem
	if next != b.Elem || scope.Complete(next) != b.Elem {
		t.Error("the pointer in struct b does not point to struct b")
	}
}

// TestLiveStructsOfTheRunningKernel follows pointers through the types of this kernel.
func TestLiveStructsOfTheRunningKernel(t *testing.T) {
	spec, err := btf.Read(btf.Dir)
	if errors.Is(err, btf.ErrNone) {
		t.Skip("CONFIG_DEBUG_INFO_BTF")
	}
	if err != nil {
		t.Fatal(err)
	}
	p, expr := typeOf(t, "struct mine { int i; struct list_head list; struct task_struct *task; };", "struct mine")
	scope, err := New(p, NewBTF(spec))
	if err != nil {
		t.Fatal(err)
	}
	mine, err := scope.Resolve(expr)
	if err != nil {
		t.Fatal(err)
	}
	if mine.Size != 32 || mine.Fields[1].Type.Size != 16 {
		t.Errorf("struct mine has %d bytes and a list of %d", mine.Size, mine.Fields[1].Type.Size)
	}
	task := mine.Fields[2].Type.Elem
	if task.Fields != nil || task.Size == 0 {
		t.Errorf("the pointer's struct has %d fields and %d bytes before it is completed", len(task.Fields), task.Size)
	}
	task = scope.Complete(task)
	parent, ok := task.Member("real_parent")
	if !ok {
		t.Fatal("struct task_struct has no real_parent")
	}
	if again := scope.Complete(parent.Type.Elem); again != task {
		t.Error("a task's parent is no task")
	}
	comm, ok := task.Member("comm")
	if !ok || spell(comm.Type) != "int8[16]" {
		t.Errorf("comm is %s", spell(comm.Type))
	}
	p, expr = typeOf(t, "struct list_head { int first; struct task_struct *task; }; struct mine { struct task_struct *task; };", "struct mine")
	if scope, err = New(p, NewBTF(spec)); err != nil {
		t.Fatal(err)
	}
	if mine, err = scope.Resolve(expr); err != nil {
		t.Fatal(err)
	}
	// A list of the kernel leads to the program's struct of that name.
	entry, ok := scope.Complete(mine.Fields[0].Type.Elem).Member("tasks")
	if !ok {
		t.Fatal("struct task_struct has no tasks")
	}
	next, ok := entry.Type.Member("next")
	if !ok {
		t.Fatalf("struct list_head of the kernel has no next: %v", entry.Type)
	}
	if _, ok := scope.Complete(next.Type.Elem).Member("first"); !ok {
		t.Error("struct list_head behind a member of the kernel's is not the program's")
	}
	if value, enum, ok := scope.Constant("TCP_ESTABLISHED"); !ok || value != 1 || enum.Kind != types.Int {
		t.Errorf("TCP_ESTABLISHED is %d (%v)", value, ok)
	}
	if _, _, ok := scope.Constant("NO_SUCH_CONSTANT"); ok {
		t.Error("NO_SUCH_CONSTANT is a constant")
	}
	if fault, _, ok := NewBTF(spec).Type("vm_fault_t"); !ok || spell(fault) != "uint32" {
		t.Errorf("vm_fault_t is not known, or no uint32 (%v)", ok)
	}
}

// FuzzTypesOfTheKernel converts all types of hostile information.
func FuzzTypesOfTheKernel(f *testing.F) {
	fuzzing.Bound(f)
	for _, name := range []string{"types.btf", "module.btf"} {
		data, err := os.ReadFile("../../host/btf/testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, data string) {
		spec, err := btf.Parse(data, nil)
		if err != nil {
			return
		}
		kernel := NewBTF(spec)
		n := 0
		for typ := range spec.Types() {
			if n++; n > 100 {
				break
			}
			c := kernel.Convert(typ)
			if c.Kind == types.Pointer {
				c = c.Elem
			}
			if whole, ok := kernel.Complete(c); ok {
				whole.Member("x")
			}
			kernel.Type("struct " + typ.Name())
		}
		kernel.Constant("X")
	})
}

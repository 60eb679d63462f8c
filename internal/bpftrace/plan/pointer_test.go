package plan

import (
	"fmt"
	"strings"
	"testing"
)

// kept describes what the events take along, and how each clause reads.
func kept(events []*Event) string {
	var s strings.Builder
	for _, e := range events {
		fmt.Fprintln(&s, e)
		for _, p := range e.Pieces {
			fmt.Fprintf(&s, " %s%+d %s text=%v const=%v\n", p.Base, p.Offset, p.Field, p.Text, p.Const)
		}
		for _, k := range e.Keeps {
			fmt.Fprintf(&s, " keeps %s in %d\n", k.Field, k.Slot)
		}
		for _, k := range e.Kept {
			fmt.Fprintf(&s, " %d bytes at %d\n", k.Size, k.Slot)
		}
		for _, u := range e.Uses {
			for _, r := range u.Reads {
				fmt.Fprintf(&s, " %s\n", r.Way)
			}
		}
		if e.Reads {
			fmt.Fprintln(&s, " reads")
		}
	}
	return s.String()
}

func TestWhatIsBehindAPointerInAMapIsTakenAlongWhereThatIsRight(t *testing.T) {
	const late, near = " " + wayLate + "\n", " " + wayNear + "\n"
	for _, test := range []struct{ name, text, want string }{
		{"a name of a user function", `uprobe:libc:open { @p[tid] = arg0; } uretprobe:libc:open { print(str(@p[tid])); }`,
			"p:libc:open v0=$arg1:u64 v1=+0($arg1):string\n v0+0 v1 text=true const=true\n" +
				"r:libc:open\n what uprobe:libc:open found there when it kept the address\n"},
		{"through variables", `uprobe:libc:open { $f = arg0; @p[tid] = $f; } uretprobe:libc:open { $g = @p[tid]; print(str($g)); }`,
			"p:libc:open v0=$arg1:u64 v1=+0($arg1):string\n v0+0 v1 text=true const=true\n" +
				"r:libc:open\n what uprobe:libc:open found there when it kept the address\n"},
		{"a buffer of a user function", `uprobe:libc:read { @p[tid] = arg1; } uretprobe:libc:read { print(str(@p[tid])); }`,
			"p:libc:read v0=$arg2:u64\n keeps v0 in 1\nr:libc:read\n 1024 bytes at 1\n" + near + " reads\n"},
		{"buffers of user functions", `uprobe:libc:read, uprobe:libc:write { @n = arg2; @p[tid] = arg1; } uretprobe:libc:read { print(buf(@p[tid], 10)); print(buf(@p[tid], 20)); }`,
			"p:libc:read v0=$arg3:u64 v1=$arg2:u64\n keeps v1 in 2\np:libc:write v0=$arg3:u64 v1=$arg2:u64\n keeps v1 in 2\n" +
				"r:libc:read\n 20 bytes at 2\n" + near + near + " reads\n"},
		{"a struct of a user function", `struct a { int x; struct a *next; };
		  uprobe:/bin/a:f { @p[tid] = arg0; } uretprobe:/bin/a:f { print(((struct a *)@p[tid])->next->x); }`,
			"p:/bin/a:f v0=$arg1:u64\n keeps v0 in 1\nr:/bin/a:f\n 16 bytes at 1\n" + late + near + " reads\n"},
		{"a parameter of a system call", `t:syscalls:open { @p[tid] = args.filename; } t:syscalls:exit { print(str(@p[tid])); }`,
			"syscalls:open\n filename+0  text=true const=true\nsyscalls:exit\n what t:syscalls:open found there when it kept the address\n"},
		{"a buffer of a system call", `t:syscalls:read { @p[tid] = args.buf; } t:syscalls:exit { print(str(@p[tid])); print(buf(@p[tid] + 8, args.dfd)); }`,
			"syscalls:read\n keeps buf in 1\nsyscalls:exit\n 1032 bytes at 1\n" + near + near + " reads\n"},
		{"a name of a kernel function", `kprobe:named { @p[tid] = arg0; } kretprobe:named { print(str(@p[tid])); }`,
			"p:named v0=$arg1:u64 v1=+0($arg1):string\n v0+0 v1 text=true const=true\n" +
				"r:named\n what kprobe:named found there when it kept the address\n"},
		{"structs of a kernel function", `struct a { int x; struct a *next; };
		  kprobe:f { @p[tid] = arg0; } kretprobe:f { print(((struct a *)@p[tid])->next->x); }`,
			"p:f v0=$arg1:u64 v1=+8($arg1):u64 v2=+0(+8($arg1)):s32\n v1+0 v2 text=false const=false\n v0+8 v1 text=false const=false\n" +
				"r:f\n" + strings.Repeat(" what kprobe:f found there when it kept the address, marked ~: it may have changed\n", 2) + " reads\n"},
		{"in a tuple", `uprobe:libc:open { @p[tid] = (1, arg0); } uretprobe:libc:open { print(str(@p[tid].1)); }`,
			"p:libc:open v0=$arg1:u64 v1=+0($arg1):string\n v0+0 v1 text=true const=true\n" +
				"r:libc:open\n what uprobe:libc:open found there when it kept the address\n"},
		{"an address that nothing tells", `uprobe:libc:open { @p[arg0] = 1; } uretprobe:libc:open { for ($kv : @p) { print(str($kv.0)); } }`,
			"p:libc:open v0=$arg1:u64\nr:libc:open\n" + late + " reads\n"},
	} {
		events, errs := planned(t, test.text)
		got := kept(events)
		if len(errs) > 0 || strings.ReplaceAll(got, "tracepoint:", "t:") != test.want {
			t.Errorf("%s: %v\n%swant\n%s", test.name, errs, got, test.want)
		}
	}
}

package syntax

import (
	"strings"
	"testing"
)

func TestAttachPointsAreSplit(t *testing.T) {
	tests := []struct{ text, provider, args, shown string }{
		{"BEGIN", "begin", "", "begin"},
		{"end", "end", "", "end"},
		{"k:f", "kprobe", "f", "kprobe:f"},
		{"kprobe:vfs_*", "kprobe", "vfs_*", "kprobe:vfs_*"},
		{"kprobe:[Ss]y[Ss]_read", "kprobe", "[Ss]y[Ss]_read", "kprobe:[Ss]y[Ss]_read"},
		{"kr:kvm:f", "kretprobe", "kvm|f", "kretprobe:kvm:f"},
		{"k:f+0x10", "kprobe", "f+0x10", "kprobe:f+0x10"},
		{"k:0xffffffff81000000", "kprobe", "0xffffffff81000000", "kprobe:0xffffffff81000000"},
		{"kfunc:f", "fentry", "f", "fentry:f"},
		{"kretfunc:vmlinux:f", "fexit", "vmlinux|f", "fexit:vmlinux:f"},
		{"f:bpf:12:f", "fentry", "bpf|12|f", "fentry:bpf:12:f"},
		{"t:syscalls:sys_enter_*", "tracepoint", "syscalls|sys_enter_*", "tracepoint:syscalls:sys_enter_*"},
		{"tracepoint:*", "tracepoint", "*|*", "tracepoint:*:*"},
		{"rt:sched_switch", "rawtracepoint", "sched_switch", "rawtracepoint:sched_switch"},
		{"u:/bin/bash:readline", "uprobe", "/bin/bash|readline", "uprobe:/bin/bash:readline"},
		{"uprobe:./a-b.c_d/e+f:g+7", "uprobe", "./a-b.c_d/e+f|g+7", "uprobe:./a-b.c_d/e+f:g+7"},
		{`uprobe:/bin/bash:"a b:{},/\"c"`, "uprobe", `/bin/bash|a b:{},/"c`, `uprobe:/bin/bash:a b:{},/"c`},
		{`u:"/my dir/x":"f(int, char)"`, "uprobe", "/my dir/x|f(int, char)", "uprobe:/my dir/x:f(int, char)"},
		{`uprobe:/x:cpp:"A::b*"`, "uprobe", "/x|cpp|A::b*", "uprobe:/x:cpp:A::b*"},
		{"uprobe:/bin/bash@readline.c:362", "uprobe", "/bin/bash|@|readline.c|362", "uprobe:/bin/bash@readline.c:362"},
		{"uprobe:/lib/*/libc.so.6:malloc", "uprobe", "/lib/*/libc.so.6|malloc", "uprobe:/lib/*/libc.so.6:malloc"},
		{"uprobe:libc:memcpy@GLIBC_2.14", "uprobe", "libc|memcpy@GLIBC_2.14", "uprobe:libc:memcpy@GLIBC_2.14"},
		{`uprobe:/x:"a$b"`, "uprobe", "/x|a$b", "uprobe:/x:a$b"},
		{"ur:libc:malloc", "uretprobe", "libc|malloc", "uretprobe:libc:malloc"},
		{"U:*:loop", "usdt", "*|loop", "usdt:*:loop"},
		{"usdt:/x:p:n", "usdt", "/x|p|n", "usdt:/x:p:n"},
		{"usdt:/x::n", "usdt", "/x||n", "usdt:/x::n"},
		{"i:s:1", "interval", "s|1", "interval:s:1"},
		{"interval:1s", "interval", "1s", "interval:1s"},
		{"p:hz:99", "profile", "hz|99", "profile:hz:99"},
		{"s:faults:", "software", "faults|", "software:faults:"},
		{"h:cache-misses:1e6", "hardware", "cache-misses|1e6", "hardware:cache-misses:1e6"},
		{"w:0x1000:8:rw", "watchpoint", "0x1000|8|rw", "watchpoint:0x1000:8:rw"},
		{"it:task_file:/sys/fs/bpf/x", "iter", "task_file|/sys/fs/bpf/x", "iter:task_file:/sys/fs/bpf/x"},
		{"self:signal:SIGUSR1", "self", "signal|SIGUSR1", "self:signal:SIGUSR1"},
		{"my=k:f", "kprobe", "f", "kprobe:f"},
		{"uprobe:$1:$2", "uprobe", "/bin/sh|main", "uprobe:/bin/sh:main"},
		{"uprobe:/x$2y:f$9", "uprobe", "/xmainy|f", "uprobe:/xmainy:f"},
		{"$3", "kprobe", "vfs_read", "kprobe:vfs_read"},
		{"BEG$4", "begin", "", "begin"},
	}
	options := Options{Positional: []string{"/bin/sh", "main", "kprobe:vfs_read", "IN"}}
	for _, test := range tests {
		for _, after := range []string{"{ }", " { }", "\n{ }", " /1/ { }", "\n// comment\n/* and */ /1/ { }"} {
			p, err := Parse("", test.text+after, options)
			if err != nil {
				t.Errorf("%s%s\n%v", test.text, after, err)
				continue
			}
			point := p.Probes[0].Points[0]
			if point.Provider != test.provider || strings.Join(point.Args, "|") != test.args || point.Text != test.shown {
				t.Errorf("%s is %s, %q, %q", test.text, point.Provider, point.Args, point.Text)
			}
			if (p.Probes[0].Predicate != nil) != strings.Contains(after, "/1/") {
				t.Errorf("%s%s: the predicate is %v", test.text, after, p.Probes[0].Predicate)
			}
		}
	}
}

func TestUprobesOfAProcessMayLeaveOutTheFile(t *testing.T) {
	tests := []struct{ text, args string }{
		{"uprobe:main", "|main"}, {"ur:main", "|main"}, {"u:cpp:main", "|cpp|main"}, {"u:/x:main", "/x|main"}, {"u:/x:cpp:main", "/x|cpp|main"},
	}
	for _, test := range tests {
		p, err := Parse("", test.text+" { }", Options{process: true})
		if err != nil {
			t.Errorf("%s\n%v", test.text, err)
		} else if got := strings.Join(p.Probes[0].Points[0].Args, "|"); got != test.args {
			t.Errorf("%s is %s, not %s", test.text, got, test.args)
		}
	}
	if _, err := Parse("", "uprobe:main { }", Options{}); err == nil {
		t.Error("a uprobe without a file is taken where no process is named")
	}
}

func TestAttachPointsOfAProbe(t *testing.T) {
	tests := []struct{ text, want string }{
		{"k:a,k:b { }", "kprobe:a kprobe:b"},
		{"k:a, k:b,\n k:c /1/ { }", "kprobe:a kprobe:b kprobe:c"},
		{"k:a , // one\nk:b, { }", "kprobe:a kprobe:b"},
		{"k:f/pid == 1/{ }", "kprobe:f"},
		{"t*point:sched:sched_switch { }", "tracepoint:sched:sched_switch"},
		{"*ware:* { }", "hardware:* software:*"},
		{"*:/bin/sh:* { }", "uprobe:/bin/sh:* usdt:/bin/sh:*"},
		{"k*:f { }", "kprobe:f"},
	}
	for _, test := range tests {
		p, err := Parse("", test.text, Options{})
		if err != nil {
			t.Errorf("%s\n%v", test.text, err)
			continue
		}
		var got []string
		for _, point := range p.Probes[0].Points {
			got = append(got, point.Text)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s is %s, not %s", test.text, got, test.want)
		}
	}
}

func TestPositionsAreThoseOfTheText(t *testing.T) {
	p, err := Parse("x.bt", "#define N 5\nbegin {\n\t$x = /* é */ N + 1;\n}\nk:f,\n k:g / @a / { f(1, 2); }", Options{})
	if err != nil {
		t.Fatal(err)
	}
	assign := p.Probes[0].Body.Stmts[0].(*Assign)
	sum := assign.Right.(*Binary)
	call := p.Probes[1].Body.Stmts[0].(*ExprStmt).X.(*Call)
	tests := []struct {
		name string
		node Node
		want Pos
	}{
		{"the first probe", p.Probes[0], Pos{"x.bt", 2, 1}},
		{"its block", p.Probes[0].Body, Pos{"x.bt", 2, 7}},
		{"the assignment", assign, Pos{"x.bt", 3, 2}},
		{"the operator", sum, Pos{"x.bt", 3, 18}},
		{"what a macro stands for", sum.X, Pos{"x.bt", 3, 16}},
		{"a number", sum.Y, Pos{"x.bt", 3, 20}},
		{"the second attach point", p.Probes[1].Points[1], Pos{"x.bt", 6, 2}},
		{"the predicate", p.Probes[1].Predicate, Pos{"x.bt", 6, 8}},
		{"the call", call, Pos{"x.bt", 6, 15}},
		{"its second argument", call.Args[1], Pos{"x.bt", 6, 20}},
	}
	for _, test := range tests {
		if got := test.node.Position(); got != test.want {
			t.Errorf("%s is at %v, not %v", test.name, got, test.want)
		}
	}
}

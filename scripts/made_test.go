package scripts

import (
	"slices"
	"strings"
	"testing"
)

// lib is the name of a library of the tests.
func lib(name string) string {
	if name == "c" || name == "ssl" {
		return "lib" + name
	}
	return name
}

func TestAPlaceIsReadAsBccsToolsAndTheLanguageHaveIt(t *testing.T) {
	for _, test := range []struct{ text, entry, exit, name string }{
		{"vfs_read", "kprobe:vfs_read", "kretprobe:vfs_read", "vfs_read"},
		{"p::vfs_read", "kprobe:vfs_read", "kretprobe:vfs_read", "vfs_read"},
		{"tcp_send*", "kprobe:tcp_send*", "kretprobe:tcp_send*", "tcp_send*"},
		{"kfree_skb+0x12", "kprobe:kfree_skb+0x12", "kretprobe:kfree_skb+0x12", "kfree_skb+0x12"},
		{"c:malloc", "uprobe:libc:malloc", "uretprobe:libc:malloc", "malloc"},
		{"bash:readline", "uprobe:bash:readline", "uretprobe:bash:readline", "readline"},
		{"p:/a b/c:f", `uprobe:"/a b/c":f`, `uretprobe:"/a b/c":f`, "f"},
		{"t:sched:sched_switch", "tracepoint:sched:sched_switch", "", "sched_switch"},
		{"u:node:gc__start", "usdt:node:gc__start", "", "gc__start"},
		{"u:c:libc:setjmp", "usdt:libc:libc:setjmp", "", "setjmp"},
		{"uprobe:libc:malloc", "uprobe:libc:malloc", "uretprobe:libc:malloc", "malloc"},
		{"kretprobe:vfs_read", "kprobe:vfs_read", "kretprobe:vfs_read", "vfs_read"},
		{"tracepoint:a:b", "tracepoint:a:b", "", "b"},
		{"c:$f", `uprobe:libc:"$f"`, `uretprobe:libc:"$f"`, "$f"},
	} {
		p, err := parsePoint(test.text, lib)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if p.entry != test.entry || p.Return != test.exit || p.name != test.name {
			t.Errorf("%s: %+v", test.text, p)
		}
	}
	for _, text := range []string{"", ":", "c:", "a:b:c", "t::x", "u::x", "p:c:f:g", "::", "p::", "c:f\n"} {
		if p, err := parsePoint(text, lib); err == nil {
			t.Errorf("%q is %+v", text, p)
		}
	}
	if p, err := parsePoint("r:c:f", lib); err != nil || p.At() != "uretprobe:libc:f" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestAProbeOfTraceIsAClause(t *testing.T) {
	for _, test := range []struct{ spec, at, condition, message string }{
		{"c:malloc", "uprobe:libc:malloc", "", ""},
		{`c:open (arg2 == 42) "%s %d", arg1, arg2`, "uprobe:libc:open", "arg1 == 42", `"%s %d", str(arg0), arg1`},
		{`do_sys_open "%s", arg2@user`, "kprobe:do_sys_open", "", `"%s", str(uptr(arg1))`},
		{`r:c:malloc (retval) "allocated = %x 100%%", retval`, "uretprobe:libc:malloc", "retval", `"allocated = %x 100%%", retval`},
		{`p:c:write(int fd, char *b, size_t n) (fd == 1) "%s, %d", b, n`, "uprobe:libc:write", "((int32)arg0) == 1", `"%s, %d", str(arg1), ((uint64)arg2)`},
		{`p::f(struct sock *sk) "%d %K", sk->sk_dport, arg2`, "kprobe:f", "", `"%d %s", ((struct sock *)arg0)->sk_dport, ksym(arg1)`},
		{`t:block:block_rq_complete "%d %s", args->nr_sector, args->comm`, "tracepoint:block:block_rq_complete", "", `"%d %s", args->nr_sector, args->comm`},
		{`c:open (STRCMP("a b", arg1)) "%d", $tgid`, "uprobe:libc:open", `(str(arg0) == "a b")`, `"%d", pid`},
		{`uprobe:libc:puts (arg0 != 0) "%s", str(arg0)`, "uprobe:libc:puts", "arg0 != 0", `"%s", str(arg0)`},
		{`c:f (g("(", arg1)) "a,b (%d)", h(arg1, arg2)`, "uprobe:libc:f", `g("(", arg0)`, `"a,b (%d)", h(arg0, arg1)`},
	} {
		clause, err := traceClause(test.spec, lib)
		if err != nil {
			t.Errorf("%s: %v", test.spec, err)
			continue
		}
		want := []string{test.at + "\n/wanted()"}
		if test.condition != "" {
			want[0] += " && (" + test.condition + ")"
		}
		if test.message != "" {
			want = append(want, "printf("+test.message+");")
		}
		for _, text := range want {
			if !strings.Contains(clause, text) {
				t.Errorf("%s: no %s in\n%s", test.spec, text, clause)
			}
		}
	}
	for _, spec := range []string{"", "a:b:c", "c:f(", "c:f (", `c:f "%d"`, `c:f "%d`, "c:f x", "c:f(size) "} {
		if clause, err := traceClause(spec, lib); err == nil {
			t.Errorf("%q is %s", spec, clause)
		}
	}
}

func TestASpecOfArgdistIsWhatItCounts(t *testing.T) {
	for _, test := range []struct {
		spec      string
		histogram bool
		want      []string
	}{
		{"p:c:malloc(size_t size):size_t:size:size==16", false, []string{"uprobe:libc:malloc\n/((uint64)arg0)==16/", "[((uint64)arg0)] = count()", `size = %lu\n", (int64)$row.1, $row.0)`}},
		{"r:c:gets():char*:(char*)$retval#snooped strings", false, []string{"uretprobe:libc:gets\n{", "[str(retval)] = count()", `header("snooped strings")`}},
		{"r::__kmalloc(size_t size):u64:$latency/$entry(size)#ns per byte", true, []string{"@entry_size1[tid] = ((uint64)arg0);", "hist(((uint64)(nsecs - @begun1[tid]))/@entry_size1[tid])", "delete(@entry_size1, tid)"}},
		{"p:c:fork()#fork calls", false, []string{`["total calls"] = count()`}},
		{"r:c:read()", true, []string{"hist(((int32)retval))"}},
		{"r::__vfs_read():u32:$COMM:$latency > 100000", false, []string{"[comm] = count()", "if (((uint64)(nsecs - @begun1[tid])) > 100000)", `$COMM = %s`}},
		{"p:c:write(int fd, char* buf):int,char*:fd,buf", false, []string{"[((int32)arg0), str(arg1)]", `fd = %ld, buf = %s\n", (int64)$row.1, $row.0.0, $row.0.1)`}},
		{"t:irq:irq_handler_entry():int:args->irq", false, []string{"tracepoint:irq:irq_handler_entry\n{", "((int32)args->irq)"}},
		{"uprobe:libc:f():int:arg0:pid == 1 ? arg1 : arg2", false, []string{"/pid == 1 ? arg1 : arg2/", "((int32)arg0)"}},
	} {
		d, err := parseDistribution(test.spec, test.histogram, lib)
		if err != nil {
			t.Errorf("%s: %v", test.spec, err)
			continue
		}
		d.number = 1
		text := d.clauses() + d.report()
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %s in\n%s", test.spec, want, text)
			}
		}
	}
	for _, spec := range []string{"", "c:f(", "c:f()x", "c:f():int", "c:f():int,int:1", "p:c:f():u64:$latency", "r:c:f():u64:$entry(x)", "c:f(int)"} {
		if d, err := parseDistribution(spec, false, lib); err == nil {
			t.Errorf("%q is %+v", spec, d)
		}
	}
	for _, spec := range []string{"p:c:f()", "p:c:f(int a, int b):int,int:a,b"} {
		if d, err := parseDistribution(spec, true, lib); err == nil {
			t.Errorf("the histogram of %q is %+v", spec, d)
		}
	}
}

// named returns a program.
func named(t *testing.T, name string) Program {
	t.Helper()
	all := All()
	i := slices.IndexFunc(all, func(p Program) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return all[i]
}

func TestTheExampleInAFileIsWhatItsCommandLineMakes(t *testing.T) {
	for name, line := range map[string]CommandLine{
		"trace":       {Args: []string{`c:malloc "size = %d", arg1`}},
		"argdist":     {Options: map[string][]string{"value-counts": {"p:c:malloc(size_t size):size_t:size"}}},
		"stackcount":  {Args: []string{"c:malloc"}},
		"funclatency": {Args: []string{"c:malloc"}},
		"profile":     {Options: map[string][]string{"frequency": {"49"}}},
	} {
		line.Library = lib
		p := named(t, name)
		text, params, err := p.For(line)
		if err != nil || len(params) > 0 {
			t.Errorf("%s: %q, %v", name, params, err)
		}
		first, rest, _ := strings.Cut(p.Text, made)
		if rest != "" {
			_, rest, _ = strings.Cut(rest, "\n")
		}
		if text != first+rest {
			t.Errorf("%s: the file has\n%s\nand its command line makes\n%s", name, first+rest, text)
		}
	}
}

func TestACommandLineThatMakesNoSenseIsAnError(t *testing.T) {
	for name, line := range map[string]CommandLine{
		"trace":       {Args: []string{"c:f", "x:y:z"}},
		"argdist":     {},
		"stackcount":  {Args: []string{"t:x:"}},
		"funclatency": {Args: []string{"t:sched:sched_switch"}},
		"profile":     {Options: map[string][]string{"frequency": {"0"}}},
	} {
		line.Library = lib
		p := named(t, name)
		if text, _, err := p.For(line); err == nil {
			t.Errorf("%s %+v makes\n%s", name, line.Args, text)
		}
	}
}

// Whatever a command line says, what is made of it has the text of the names in quotes: no part
// of a name is read as a part of the program.
func FuzzCommandLines(f *testing.F) {
	for _, seed := range []string{
		"c:malloc", `c:open (arg2 == 42) "%s %d", arg1, arg2`, "p:c:malloc(size_t size):size_t:size:size==16",
		"r::f(size_t size):u64:$latency/$entry(size)#x", "t:sched:sched_switch", `u:"a":b`, "p:a\nb:c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		if p, err := parsePoint(spec, lib); err == nil && strings.ContainsAny(p.entry, "\n\x00") {
			t.Errorf("%q is at %q", spec, p.entry)
		}
		_, _ = traceClause(spec, lib)
		for _, histogram := range []bool{false, true} {
			if d, err := parseDistribution(spec, histogram, lib); err == nil {
				_ = d.clauses() + d.report()
			}
		}
	})
}

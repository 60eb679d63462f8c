package plan

import (
	"slices"
	"testing"
)

func TestOnlyProgramsThatAggregateCommute(t *testing.T) {
	for _, tt := range []struct {
		program string
		want    bool
	}{
		{`t:a:b { @[args.dfd] = count(); }`, true},
		{`t:a:b / args.dfd > 1 / { $x = args.dfd * 2; if ($x == 4) { @ = hist($x); } else { @m = max(pid); } }`, true},
		{`BEGIN { printf("x"); @s = 1; } t:a:b { @ = count(); } END { clear(@s); }`, true},
		{`t:a:b { printf("x"); }`, false},
		{`t:a:b { @ = args.dfd; }`, false},
		{`t:a:b { @[tid] = nsecs; } t:a:c { @d = hist(nsecs - @[tid]); }`, false},
		{`t:a:b / @on / { @ = count(); } t:a:c { @on = 1; }`, false},
		{`t:a:b { @ = count(); } i:s:1 { print(@); }`, false},
		{`BEGIN, t:a:b { @ = 1; }`, false},
		{`config = { max_map_keys = 5 } t:a:b { @[args.dfd] = count(); }`, false},
	} {
		prog, _ := checked(t, tt.program)
		if got := Commutes(prog); got != tt.want {
			t.Errorf("%s: %v", tt.program, got)
		}
	}
}

func TestFieldsTellWhatIsTheSameHitTwice(t *testing.T) {
	for _, tt := range []struct {
		program string
		fields  []string
		comm    bool
		ok      bool
	}{
		{`t:a:b / args.dfd > 1 / { @[probe] = count(); }`, []string{"dfd"}, false, true},
		{`t:a:b { @ = count(); }`, nil, false, true},
		{`t:a:b { @[comm] = sum(args.dfd); }`, []string{"dfd"}, true, true},
		{`t:a:b { @[pid] = count(); }`, nil, false, false},
		{`t:a:b { @ = hist(args.dfd); }`, nil, false, false},
		{`t:a:b { @ = count(); } t:a:b / tid == 1 / { @x = count(); }`, nil, false, false},
		{`uprobe:libc:malloc { @ = count(); }`, nil, false, false},
	} {
		prog, host := checked(t, tt.program)
		events, errs := Make(prog, host)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		fields, comm, ok := events[0].Repeats(prog)
		if !slices.Equal(fields, tt.fields) || comm != tt.comm || ok != tt.ok {
			t.Errorf("%s: %q, %v, %v", tt.program, fields, comm, ok)
		}
	}
}

func TestThePlaceOfAHitTellsAllThatItsClausesDo(t *testing.T) {
	for _, tt := range []struct {
		program string
		want    bool
	}{
		{`kprobe:vfs_* { @[probe] = count(); }`, true},
		{`kprobe:vfs_* { @[func] = count(); }`, true},
		{`kretprobe:vfs_* { @ = count(); }`, true},
		{`kprobe:vfs_* / probe != "kprobe:vfs_read" / { @s = sum(2); }`, true},
		{`kprobe:vfs_* / func == "vfs_read" / { @[str(func)] = count(); }`, true},
		{`kprobe:vfs_* { @[str(ksym(arg0))] = count(); }`, false},
		{`kprobe:vfs_* { @ = count(); } i:s:1 { print(@); clear(@); exit(); } END { clear(@); }`, true},
		{`kprobe:vfs_* { @ = count(); } t:a:b { @x[args.dfd] = count(); }`, true},
		{`kprobe:vfs_* { @ = count(); } t:a:b { print(@); }`, false},
		{`kprobe:vfs_* { @ = count(); } kprobe:vfs_* { @x[pid] = count(); }`, false},
		{`kprobe:vfs_* { @[comm] = count(); }`, false},
		{`kprobe:vfs_* / pid == 5 / { @ = count(); }`, false},
		{`kprobe:vfs_* { @ = sum(arg0); }`, false},
		{`kprobe:vfs_* { @[kstack] = count(); }`, false},
		{`kprobe:vfs_* { @ = hist(1); }`, false},
		{`kprobe:vfs_* { @++; }`, false},
		{`kprobe:vfs_* { @ = count(); } i:s:1 { if (1) { system("true"); } }`, false},
		{`kprobe:vfs_* { @[probe] = count(); exit(); }`, false},
		{`config = { max_map_keys = 5 } kprobe:vfs_* { @[probe] = count(); }`, false},
		{`uprobe:libc:str* { @[probe] = count(); }`, false},
	} {
		prog, host := checked(t, tt.program)
		events, errs := Make(prog, host)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if got := events[0].Placed(prog); got != tt.want {
			t.Errorf("%s: %v", tt.program, got)
		}
	}
}

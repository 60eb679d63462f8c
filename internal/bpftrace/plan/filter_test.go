package plan

import (
	"testing"
)

func TestTheKernelFiltersWhatDecidesAlone(t *testing.T) {
	for _, tt := range []struct{ program, want string }{
		{`t:a:b / args.dfd == 5 / { @ = count(); }`, `dfd == 5`},
		{`t:a:b / 5 < args.dfd / { @ = count(); }`, `dfd > 5`},
		{`t:a:b / args.dfd == -1 / { @ = count(); }`, `dfd == -1`},
		{`t:a:b / args.dfd / { @ = count(); }`, `dfd != 0`},
		{`t:a:b / !(args.dfd > 5 && tid == 3) / { @ = count(); }`, `dfd <= 5 || common_pid != 3`},
		{`t:a:b / args.dfd == 5 && pid == 3 / { @ = count(); }`, `dfd == 5`},
		{`t:a:b / args.dfd == 5 || pid == 3 / { @ = count(); }`, ``},
		{`t:a:b / (uint8)args.dfd == 5 && args.dfd & 6 / { @ = count(); }`, `(dfd & 0xff) == 5 && (dfd & 0x6) != 0`},
		{`t:a:b / (int8)args.dfd < 0 / { @ = count(); }`, `(int8)dfd < 0`},
		{`t:a:b / args.dfd + 1 == 5 / { @ = count(); }`, ``},
		{`t:a:b / comm == "dd" && cpu != 1 / { @ = count(); }`, `COMM == "dd" && CPU != 1`},
		{`t:a:b / comm == "d*" / { @ = count(); }`, ``},
		{`t:a:b / comm == "" / { @ = count(); }`, ``},
		{`t:a:b / comm < "dd" / { @ = count(); }`, ``},
		{`t:a:b / args.dfd == args.dfd / { @ = count(); }`, ``},
		{`t:a:b / nsecs > 5 && tid == 3 / { @ = count(); }`, `common_pid == 3`},
		{`t:a:b / 1 && tid == 3 / { @ = count(); }`, `common_pid == 3`},
		{`t:a:b / (tid == 3) == true / { @ = count(); }`, ``},

		// What comes after something that is done does not matter to it.
		{`t:a:b / @x++ && tid == 3 / { @ = count(); }`, ``},
		{`t:a:b / tid == 3 && @x++ / { @ = count(); }`, `common_pid == 3`},
		{`t:a:b / @on[cpu] && tid == 3 / { @on[cpu] = 1; }`, `common_pid == 3`},
		{`t:a:b / args.dfd / args.dfd == 1 && tid == 3 / { @ = count(); }`, ``},
		{`t:a:b / tid == 3 || @x++ / { @ = count(); }`, ``},
		{`t:a:b / !(tid == 3 || @x++) / { if (cpu == 1) { @ = count(); } }`, `common_pid != 3`},

		// Statements.
		{`t:a:b { if (tid == 3) { @ = count(); } }`, `common_pid == 3`},
		{`t:a:b { if (tid == 3) { return; } @ = count(); }`, `common_pid != 3`},
		{`t:a:b { if (tid == 3) { return; } if (tid == 4) { return } if (cpu == 1) { @ = count(); } }`,
			`common_pid != 3 && common_pid != 4 && CPU == 1`},
		{`t:a:b { if (tid == 3) { @ = count(); return; } if (cpu == 1) { @ = count(); } }`, `common_pid == 3 || (common_pid != 3 && CPU == 1)`},
		{`t:a:b { if (tid == 3) { @ = count(); } if (cpu == 1) { @ = count(); } }`, `common_pid == 3 || CPU == 1`},
		{`t:a:b { if (tid == 3) { $x = 1; } else if (tid == 4) { @ = count(); } else { return; } }`, `common_pid != 3 && common_pid == 4`},
		{`t:a:b { $x = args.dfd; if (tid == 3) { print($x); } }`, `common_pid == 3`},
		{`t:a:b { $x = @y++; if (tid == 3) { print($x); } }`, ``},
		{`t:a:b { while (@y < 3) { @y++; } if (tid == 3) { @ = count(); } }`, ``},
		{`t:a:b / args.dfd == 5 / { if (tid == 3) { return; } @ = count(); }`, `dfd == 5 && common_pid != 3`},
		{`t:a:b / args.dfd == 5 / { }`, `dfd == 5`},
		{`t:a:b / 0 / { @ = count(); }`, ``},
		{`t:a:b { if (tid == 3) { } }`, ``},

		// Several clauses of one event.
		{`t:a:b / tid == 3 / { @ = count(); } t:a:b / cpu == 1 && args.dfd == 5 / { @ = count(); }`, `common_pid == 3 || (CPU == 1 && dfd == 5)`},
		{`t:a:b / tid == 3 / { @ = count(); } t:a:b { @ = count(); }`, ``},

		// What probes fetch.
		{`uprobe:/bin/a:f / arg0 > 5 / { @ = count(); }`, `v0 > 5`},
		{`uprobe:/bin/a:f / str(arg0) == "x" && str(arg1) != "y" / { @ = count(); }`, `v0 == "x"`},
		{`uprobe:/bin/a:f / str(arg0, 4) == "wxyz" / { @ = count(); }`, ``},
		{`kretprobe:f / (int64)retval < 0 / { @ = count(); }`, `v0 < 0`},
		{`t:a:b / str(args.filename) == "x" && args.dfd == 1 / { @ = count(); }`, `dfd == 1`},
		{`fexit:f / retval == 1 / { @ = count(); }`, `v0 == 1`},
		{`fexit:f / retval == 1 / { print(args.first); }`, ``},
		{`profile:hz:99 / tid == 3 / { @ = count(); }`, ``},
	} {
		events, errs := planned(t, tt.program)
		if len(errs) > 0 {
			t.Fatal(tt.program, errs)
		}
		got := ""
		if events[0].Filter != nil {
			got = events[0].Filter.String()
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.program, got, tt.want)
		}
	}
}

func TestAnEntryThatReturnsAskForIsNotFiltered(t *testing.T) {
	events, errs := planned(t, `fentry:f / args.first == 1 / { @ = count(); } fexit:f { @x[args.first] = count(); }`)
	if len(errs) > 0 || len(events) != 2 || events[1].Entry != events[0] || events[0].Filter != nil {
		t.Errorf("%v, %v", events, errs)
	}
}

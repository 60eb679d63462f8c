package plan

import "testing"

func TestWhoAHitMustBeOf(t *testing.T) {
	type who struct{ pid, tid uint32 }
	for _, tt := range []struct {
		program, want  string
		admits, others []who
	}{
		{`t:a:b / pid == 3 / { @ = count(); }`, `pid == 3`, []who{{3, 3}, {3, 9}}, []who{{9, 3}, {0, 0}}},
		{`t:a:b / 3 == pid && args.dfd == 5 / { @ = count(); }`, `pid == 3`, []who{{3, 9}}, []who{{9, 3}}},
		{`t:a:b / pid != 3 / { @ = count(); }`, `pid != 3`, []who{{9, 3}}, []who{{3, 3}, {3, 9}}},
		{`t:a:b { if (pid == 3) { return; } @ = count(); }`, `pid != 3`, []who{{9, 3}}, []who{{3, 3}, {3, 9}}},
		{`t:a:b / pid == 3 || pid == 4 / { @ = count(); }`, `pid == 3 || pid == 4`, []who{{3, 9}, {4, 9}}, []who{{9, 3}}},
		{`t:a:b / pid == 3 && tid != 9 / { @ = count(); }`, `pid == 3 && common_pid != 9`, []who{{3, 3}}, []who{{3, 9}, {4, 4}}},
		{`t:a:b / pid > 3 && pid <= 5 / { @ = count(); }`, `pid > 3 && pid <= 5`, []who{{4, 9}, {5, 9}}, []who{{3, 4}, {6, 4}}},
		{`t:a:b / pid & 1 / { @ = count(); }`, `(pid & 0x1) != 0`, []who{{5, 2}}, []who{{4, 3}}},
		{`t:a:b / (uint8)pid == 3 / { @ = count(); }`, `(pid & 0xff) == 3`, []who{{259, 2}}, []who{{4, 3}}},
		{`t:a:b / (int8)pid < 0 / { @ = count(); }`, `(int8)pid < 0`, []who{{128, 2}}, []who{{127, 3}}},
		{`t:a:b / pid == 3 / { @ = count(); } t:a:b / pid == 4 / { @ = count(); }`, `pid == 3 || pid == 4`, []who{{3, 9}, {4, 9}}, []who{{9, 3}}},
		{`t:a:b / pid == 3 || comm == "dd" / { @ = count(); }`, ``, []who{{9, 9}}, nil},
		{`t:a:b / pid == 3 || args.dfd == 5 / { @ = count(); }`, ``, []who{{9, 9}}, nil},
		{`t:a:b / pid == 3 / { @ = count(); } t:a:b { @all = count(); }`, ``, []who{{9, 9}}, nil},
		{`t:a:b / @on[pid] / { @on[cpu] = 1; }`, ``, []who{{9, 9}}, nil},
		{`t:a:b / @x++ && pid == 3 / { @ = count(); }`, ``, []who{{9, 9}}, nil},
		{`t:a:b { @n++; if (pid == 3) { @ = count(); } }`, ``, []who{{9, 9}}, nil},
		{`t:a:b / pid == @p / { @p = 1; }`, ``, []who{{9, 9}}, nil},
		{`t:a:b / tid == 3 / { @ = count(); }`, ``, []who{{9, 9}}, nil}, // the record has it
	} {
		events, errs := planned(t, tt.program)
		if len(errs) > 0 {
			t.Fatal(tt.program, errs)
		}
		got := ""
		if events[0].Who != nil {
			got = events[0].Who.String()
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.program, got, tt.want)
		}
		for _, w := range tt.admits {
			if !events[0].Who.Admits(w.pid, w.tid) {
				t.Errorf("%s does not admit %v", tt.program, w)
			}
		}
		for _, w := range tt.others {
			if events[0].Who.Admits(w.pid, w.tid) {
				t.Errorf("%s admits %v", tt.program, w)
			}
		}
	}
}

func TestARenamedConditionComparesNoTexts(t *testing.T) {
	events, errs := planned(t, `t:a:b / args.dfd == 5 && (comm == "dd" || args.filename == 6) && tid != 3 / { @ = count(); }`)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	renamed := events[0].Filter.Renamed(func(name string) string { return map[string]string{"dfd": "first"}[name] })
	if got, want := renamed.String(), `first == 5 && (COMM == "dd" ||  == 6) && common_pid != 3`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

package live

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/uprobe"
)

func TestWhatStandsForAFunctionThatIsNotThere(t *testing.T) {
	gone := func(name string, today ...string) error {
		return fmt.Errorf("resolve: %w", &kprobe.SymbolError{Name: name, Today: today, Why: "since Linux 1.2"})
	}
	noFile := fmt.Errorf("find it: %w", fs.ErrNotExist)
	arguments := []plan.Fetch{{Name: "v0", Text: "$arg1:u64"}}
	for _, test := range []struct {
		event plan.Event
		err   error
		want  string
		noted bool
	}{
		{plan.Event{Place: plan.Kernel, Definition: "p:f"}, gone("f", "f.isra.0"), "p:f.isra.0", true},
		{plan.Event{Place: plan.Kernel, Definition: "r:f", Fetch: arguments}, gone("f", "f.constprop.0"), "r:f.constprop.0", true},
		{plan.Event{Place: plan.Kernel, Definition: "p:f", Fetch: arguments}, gone("f", "f_noprof"), "p:f_noprof", true},
		{plan.Event{Place: plan.Kernel, Definition: "p:f"}, gone("f", "g"), "p:g", true},
		{plan.Event{Place: plan.Kernel, Definition: "p:f", Fetch: arguments}, gone("f", "g"), "", false},
		{plan.Event{Place: plan.Kernel, Definition: "p:f"}, gone("f", "g", "h"), "", false},
		{plan.Event{Place: plan.Kernel, Definition: "p:f"}, gone("f"), "", false},
		{plan.Event{Place: plan.Kernel, Definition: "p:f+4"}, gone("f", "f.isra.0"), "", false},
		{plan.Event{Place: plan.Kernel, Definition: "p:f"}, noFile, "", false},
		{plan.Event{Place: plan.User, Definition: "p:libpthread:f"}, &uprobe.SymbolError{}, "p:libc:f", false},
		{plan.Event{Place: plan.User, Definition: "p:/lib/a/libpthread.so.0:f"}, &uprobe.SymbolError{}, "p:/lib/a/libc.so.6:f", false},
		{plan.Event{Place: plan.User, Definition: "p:/lib/a/libm.so.6:f"}, &uprobe.SymbolError{}, "", false},
		{plan.Event{Place: plan.User, Definition: "r:/lib64/libc.so.6:f"}, noFile, "r:libc.so.6:f", true},
		{plan.Event{Place: plan.User, Definition: "p:/lib64/libdl.so.2:f"}, noFile, "p:libc.so.6:f", true},
		{plan.Event{Place: plan.User, Definition: "p:/usr/bin/tool:f"}, noFile, "", false},
		{plan.Event{Place: plan.User, Definition: "p:libc.so.6:f"}, noFile, "", false},
		{plan.Event{Place: plan.Tracepoint, Definition: "sched:sched_switch"}, noFile, "", false},
	} {
		got, note := standIn(&test.event, test.err)
		if got != test.want || (note != "") != test.noted {
			t.Errorf("%s, %v: %q (%s), want %q", &test.event, test.err, got, note, test.want)
		}
	}
}

func TestFunctionsThatCanNotBeProbedAreExplained(t *testing.T) {
	event := &plan.Event{Place: plan.Kernel, Definition: "p:f", Fetch: []plan.Fetch{{Name: "v0", Text: "+0($arg1):u64"}},
		Point: &syntax.AttachPoint{Text: "kprobe:f"}}
	err := at(event, &kprobe.MethodError{What: "p:f v0=+0($arg1):u64", Refusals: []kprobe.Refusal{
		{Method: kprobe.MethodPMU, Err: fmt.Errorf("it fetches no arguments")},
		{Method: kprobe.MethodBreakpoint, Err: fmt.Errorf("argument v0=+0(%%di):u64: a breakpoint shows only registers, not memory")},
	}}).(*syntax.Error)
	want := "this kernel can't trace kprobe:f by pmu (it fetches no arguments), or by breakpoint (a breakpoint shows only registers, not memory)"
	if err.Msg != want || err.Hint == "" {
		t.Errorf("%q, want %q; the hint is %q", err.Msg, want, err.Hint)
	}
}

func TestAFunctionsOldAndNewNameAreProbedOnce(t *testing.T) {
	event := func(function string, clauses ...int) *plan.Event {
		e := &plan.Event{Place: plan.Kernel, Definition: "p:" + function}
		for _, clause := range clauses {
			e.Uses = append(e.Uses, plan.Use{Clause: clause})
		}
		return e
	}
	gone := &kprobe.SymbolError{Name: "swap_readpage", Today: []string{"swap_read_folio"}}
	for name, test := range map[string]struct {
		old, today *plan.Event
		once       bool
	}{
		"of one clause":                {event("swap_readpage", 1), event("swap_read_folio", 1), true},
		"of one clause among others":   {event("swap_readpage", 1), event("swap_read_folio", 0, 1, 2), true},
		"of another clause":            {event("swap_readpage", 1), event("swap_read_folio", 0), false},
		"of one of two clauses":        {event("swap_readpage", 0, 1), event("swap_read_folio", 0), false},
		"another function is probed":   {event("swap_readpage", 1), event("swap_writepage", 1), false},
		"its return is probed as well": {event("swap_readpage", 1), &plan.Event{Place: plan.Kernel, Definition: "r:swap_read_folio"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			other, note := standIn(test.old, gone)
			if other != "p:swap_read_folio" || note == "" {
				t.Fatalf("%q stands in, and the note is %q", other, note)
			}
			if got := isAmong(other, test.old, []*plan.Event{test.old, test.today}); got != test.once {
				t.Errorf("what stands in is among the events: %v", got)
			}
		})
	}
}

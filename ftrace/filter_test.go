package ftrace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheKernelsExplanationOfAFilterIsRead(t *testing.T) {
	for _, test := range []struct{ name, filter, text, message, at string }{
		{"as Linux 6.18 writes it", `prev_pid == "abc"`, "prev_pid == \"abc\"\n             ^\nparse_error: Expecting numeric field\n\n", "Expecting numeric field", `"abc"`},
		{"the filter had a newline at its end", "foo == 1\n", "foo == 1\n    ^\nparse_error: Field not found\n", "Field not found", "foo == 1\n"},
		{"the caret is at the start", "(a == 1", "(a == 1\n^\nparse_error: Too many '('\n", "Too many '('", "(a == 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := explainFilter(test.filter, test.text, 22)
			if e.Pos < 0 || e.Message != test.message || e.Filter[e.Pos:] != test.at {
				t.Errorf("%v\nwant %q at %q", e, test.message, test.at)
			}
		})
	}
}

func TestAFilterThatTheKernelDoesNotExplainIsRefusedNonetheless(t *testing.T) {
	for _, text := range []string{"", "\n\nError: (0)\n", "another == 1\n  ^\nparse_error: x\n", "a == 1", "a == 1\n^", "a == 1\nx ^\nparse_error: x\n"} {
		if e := explainFilter("a == 1", text, 22); e.Pos != -1 || !strings.Contains(e.Message, "invalid argument") {
			t.Errorf("of %q came %q at %d; want the errno's meaning and no place", text, e.Message, e.Pos)
		}
	}
}

func TestLiveARefusedFilterSaysWhere(t *testing.T) {
	tracefs := withUprobes(t)
	group := newGroup(t, tracefs, "uprobe_events")
	if _, err := group.Define(Dynamic{Type: 'p', Event: "e", Place: place, Args: here("name=+0(%di):string n=%si:s32")}); err != nil {
		t.Fatal(err)
	}
	static := EventName{"sched", "sched_switch"}
	own := EventName{group.Name(), "e"}
	for _, test := range []struct {
		name   string
		event  EventName
		filter string
		at     string // the filter from the caret on
	}{
		{"a field that is not there", static, "foo == 1", "foo == 1"},
		{"a field that is not there, at the end", static, "prev_pid == 1 && !(fooo==2)", "fooo==2)"},
		{"a value in the place of a field", static, "5 == prev_pid", "5 == prev_pid"},
		{"a parenthesis that is not closed", static, "((prev_pid == 1) && prev_pid == 2", "((prev_pid == 1) && prev_pid == 2"},
		{"a parenthesis that was not opened", static, "prev_pid == 1)", ")"},
		{"a string compared with a number", static, "prev_comm == 57", "57"},
		{"a number compared with a string", static, `prev_pid == 1 || prev_pid == "abc"`, `"abc"`},
		{"a number compared with a word", static, "prev_pid < bar", "bar"},
		{"a number that is too large", static, "prev_pid == 0xfffffffffffffffff", "0xfffffffffffffffff"},
		{"a quote that is not closed", static, `prev_comm == "a`, `"a`},
		{"an operator that is none", static, "prev_pid ?? 5", "?? 5"},
		{"no operator", static, "prev_pid", ""},
		{"an operator that does not go with the field", static, `prev_comm < "a"`, `< "a"`},
		{"the same for a number", static, "  prev_pid ~ 5", "~ 5"},
		{"something behind the end", static, "prev_pid == 1 prev_pid == 2", "prev_pid == 2"},
		{"nothing", static, " ", " "},
		{"more than a page", static, "prev_pid == 1" + strings.Repeat(" || prev_pid == 1", 300), ""},
		{"a field of an own event that is not there", own, "nome == 1", "nome == 1"},
		{"an own event's string compared with a number", own, "n == 1 && name == 5", "5"},
		{"an own event's number compared with a string", own, `n == "x"`, `"x"`},
		{"an own event's unbalanced parenthesis", own, "(n == 1", "(n == 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := tracefs.ExplainFilter(test.event.System, test.event.Name, test.filter)
			e, ok := err.(*FilterError)
			if !ok {
				t.Fatalf("the error is %v; want a FilterError", err)
			}
			if e.Pos < 0 || test.at != "" && e.Filter[e.Pos:] != test.at {
				t.Errorf("%v\nwant the caret at %q", e, test.at)
			}
			if test.event == own && strings.HasPrefix(e.Message, "Field") && !strings.HasSuffix(e.Message, "fields are name, n") {
				t.Errorf("%v\nwant the event's fields", e)
			}
		})
	}
	for _, test := range []struct {
		name   string
		event  EventName
		filter string
	}{
		{"a number", static, "prev_pid == 1 && prev_prio != 0x10"},
		{"a string with a pattern", static, `prev_comm ~ "*sh" || !(prev_pid & 1)`},
		{"space around it", static, "  prev_pid == 1 \n"},
		{"fields of an own event", own, `name ~ "SELECT*" && n < -1`},
		{"a common field", own, "common_pid == 1"},
	} {
		t.Run("accepted: "+test.name, func(t *testing.T) {
			if err := tracefs.ExplainFilter(test.event.System, test.event.Name, test.filter); err != nil {
				t.Error(err)
			}
		})
	}
	if err := tracefs.ExplainFilter("sched", "no_such_event", "a == 1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a filter of an event that is not there: %v; want not exist", err)
	}
	for _, event := range []EventName{static, own} {
		text, err := os.ReadFile(filepath.Join(tracefs.Dir(), "events", event.System, event.Name, "filter"))
		if err != nil || string(text) != "none\n" {
			t.Errorf("the shared filter of %s is now %q, %v", event, text, err)
		}
	}
	instances, err := os.ReadDir(filepath.Join(tracefs.Dir(), "instances"))
	if err != nil {
		t.Fatal(err)
	}
	for _, instance := range instances {
		if strings.HasPrefix(instance.Name(), group.Name()) {
			t.Errorf("the instance %s was left behind", instance.Name())
		}
	}
}

func FuzzExplainFilter(f *testing.F) {
	f.Add(`prev_pid == "abc"`, "prev_pid == \"abc\"\n             ^\nparse_error: Expecting numeric field\n\n")
	f.Add("a", "a\n ^\nparse_error: Field not found\n")
	f.Add("  prev_pid ~ 5", "  prev_pid ~ 5\n              ^\nparse_error: Illegal operation for field type\n")
	f.Fuzz(func(t *testing.T, filter, text string) {
		e := explainFilter(filter, text, 22)
		if e.Pos < -1 || e.Pos > len(filter) || e.Message == "" {
			t.Errorf("%q at %d", e.Message, e.Pos)
		}
		_ = e.Error()
	})
}

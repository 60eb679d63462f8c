package scripts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// maxSummary is the length at which a line of 'ringtap help all' still fits 80 columns.
const maxSummary = 80 - len("  gethostlatency ")

func TestEachProgramSaysWhatItDoesAndHowItIsCalled(t *testing.T) {
	all := All()
	if len(all) == 0 {
		t.Fatal("there are no programs")
	}
	for _, p := range all {
		if !strings.HasPrefix(p.Text, "#!/usr/bin/env bpftrace\n// "+p.Name+" ") {
			t.Errorf("%s does not begin with what it is", p.Name)
		}
		verb, _, _ := strings.Cut(p.Summary, " ")
		if !slices.Contains([]string{"show", "count", "trace", "print", "sample", "sum"}, verb) || len(p.Summary) > maxSummary {
			t.Errorf("%s: the summary is %q", p.Name, p.Summary)
		}
		if len(p.Example) < 3 {
			t.Errorf("%s has %d examples, want 3", p.Name, len(p.Example))
		}
		for _, e := range p.Example {
			if !strings.HasPrefix(e.Command+" ", p.Name+" ") || e.What == "" {
				t.Errorf("%s: the example %q is of %q", p.Name, e.Command, e.What)
			}
		}
	}
}

func TestEachGetoptIsAnOption(t *testing.T) {
	for _, p := range All() {
		called := 0
		for _, o := range p.Options {
			if o.Kind != Texts {
				called++
			}
		}
		if n := strings.Count(p.Text, "getopt("); n != called {
			t.Errorf("%s calls getopt %d times and has %d options of it", p.Name, n, called)
		}
		var letters []string
		for _, o := range p.Options {
			if o.Short != "" && slices.Contains(letters, o.Short) {
				t.Errorf("%s has a second -%s", p.Name, o.Short)
			}
			letters = append(letters, o.Short)
			var n int64
			if _, err := fmt.Sscan(o.Default, &n); o.Kind == Number && err != nil {
				t.Errorf("%s: the default of --%s is %q", p.Name, o.Name, o.Default)
			}
		}
	}
}

func TestTheHeadOfAProgramIsItsManual(t *testing.T) {
	p := Program{Name: "x", Text: `#!/usr/bin/env bpftrace
// x shows what is. It also
// says more.
//
//	x      all
//	x -p 1    of one
//
// Usage: C [A [B]]
//
// Options:
//
//	-l, --list THING  count each THING
//
// A detail.

macro a() { getopt("name", "def", "-n: only ` + "`TEXT`" + `") }
macro b() { getopt("count", 3, "how many") }
`}
	p.readHead()
	p.readOptions()
	if least, most := p.Arguments(); least != 1 || most != 3 {
		t.Errorf("%d to %d arguments", least, most)
	}
	if p.Summary != "show what is" || fmt.Sprint(p.Example) != "[{x all} {x -p 1 of one}]" ||
		strings.Join(p.About, "|") != "It also says more.|A detail." {
		t.Errorf("%+v", p)
	}
	if fmt.Sprint(p.Options) != "[{list l count each `THING`  3} {name n only `TEXT` def 2} {count  how many 3 1}]" {
		t.Errorf("%v", p.Options)
	}
}

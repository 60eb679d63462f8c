package dynevent

import (
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
)

func TestNamesOfEventsDifferAndStayLegal(t *testing.T) {
	taken := make(map[string]bool)
	long := strings.Repeat("x", MaxEvent)
	for _, test := range []struct{ name, want string }{
		{"malloc", "malloc"}, {"malloc", "malloc_1"}, {"malloc_1", "malloc_1_1"}, {"malloc", "malloc_2"},
		{long, long}, {long, long[:MaxEvent-2] + "_1"},
	} {
		if got := FreeEvent(test.name, taken); got != test.want {
			t.Errorf("%s becomes %s, want %s", test.name, got, test.want)
		}
	}
}

func TestTwoArgumentsOfOneNameAreRefusedAndParametersGetOthers(t *testing.T) {
	args := []ftrace.FetchArg{{Name: "n"}}
	args = append(args, ftrace.FetchArg{Name: FreeArg("n", args)})
	if args[1].Name != "n_2" {
		t.Errorf("a second n is called %s, want n_2", args[1].Name)
	}
	if err := CheckArgs(args); err != nil {
		t.Error(err)
	}
	if err := CheckArgs(append(args, args[0])); err == nil {
		t.Error("two arguments called n are taken")
	}
	if got := FreeArg(strings.Repeat("y", 100), nil); len(got) != MaxArg {
		t.Errorf("a name of %d characters, the kernel takes %d", len(got), MaxArg)
	}
}

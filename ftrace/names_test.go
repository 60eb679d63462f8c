package ftrace

import (
	"strings"
	"testing"
)

func TestNamesOfEventsDifferAndStayLegal(t *testing.T) {
	taken := make(map[string]bool)
	long := strings.Repeat("x", MaxEventName)
	for _, test := range []struct{ name, want string }{
		{"malloc", "malloc"}, {"malloc", "malloc_1"}, {"malloc_1", "malloc_1_1"}, {"malloc", "malloc_2"},
		{long, long}, {long, long[:MaxEventName-2] + "_1"},
	} {
		if got := FreeEventName(test.name, taken); got != test.want {
			t.Errorf("%s becomes %s, want %s", test.name, got, test.want)
		}
	}
}

func TestTwoArgumentsOfOneNameAreRefusedAndParametersGetOthers(t *testing.T) {
	args := []FetchArg{{Name: "n"}}
	args = append(args, FetchArg{Name: FreeArgName("n", args)})
	if args[1].Name != "n_2" {
		t.Errorf("a second n is called %s, want n_2", args[1].Name)
	}
	if err := CheckArgNames(args); err != nil {
		t.Error(err)
	}
	if err := CheckArgNames(append(args, args[0])); err == nil {
		t.Error("two arguments called n are taken")
	}
	if got := FreeArgName(strings.Repeat("y", 100), nil); len(got) != MaxArgName {
		t.Errorf("a name of %d characters, the kernel takes %d", len(got), MaxArgName)
	}
}

package ftrace

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFetchArgsAreReadAsTheKernelReadsThem(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []FetchArg
	}{
		{"none", " \t", nil},
		{"perf-tools' opened file", "+0(%si):string", []FetchArg{{Name: "arg1", Fetch: "+0(%si)", Type: "string"}}},
		{"unnamed ones count those before", "%di x=%si $retval", []FetchArg{{Name: "arg1", Fetch: "%di"}, {Name: "x", Fetch: "%si"}, {Name: "arg3", Fetch: "$retval"}}},
		{"nested", "a=-8(+0x10(+u0($stack2)))\tb=@+0x40:u8[4]", []FetchArg{{Name: "a", Fetch: "-8(+0x10(+u0($stack2)))"}, {Name: "b", Fetch: "@+0x40", Type: "u8[4]"}}},
		{"constants", `\5 n=\-1 t=\"abc"`, []FetchArg{{Name: "arg1", Fetch: `\5`}, {Name: "n", Fetch: `\-1`}, {Name: "t", Fetch: `\"abc"`}}},
		{"bits", "flag=%ax:b1@31/32", []FetchArg{{Name: "flag", Fetch: "%ax", Type: "b1@31/32"}}},
		{"the task's name", "$comm c=$COMM:string", []FetchArg{{Name: "arg1", Fetch: "$comm"}, {Name: "c", Fetch: "$COMM", Type: "string"}}},
		{"the function's argument", "cmd=+0($arg3):string $arg1", []FetchArg{{Name: "cmd", Fetch: "+0($arg3)", Type: "string"}, {Name: "arg2", Fetch: "$arg1"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseFetchArgs(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestAMistakeInFetchArgsIsPointedAt(t *testing.T) {
	for _, test := range []struct{ name, text, at, message string }{
		{"a type that is none", "%di x=%si:u33", "u33", `no type "u33"`},
		{"a variable that is none", "a=$foo", "$foo", "no $foo"},
		{"a string of a register", "name=%di:string", "string", "+0(…)"},
		{"a string of an argument", "name=$arg1:string", "string", "+0(…)"},
		{"an array of a register", "name=%di:u8[4]", "u8[4]", "+0(…)"},
		{"an open parenthesis", "%di a=+0(%di b=%si", " b=%si", "not closed"},
		{"a parenthesis too many", "+0(%di)):string", "%di)):string", "lower case"},
		{"text behind the parenthesis", "+0(%di)x:string", "x:string", "behind"},
		{"an offset without parentheses", "a=+8", "", "parentheses"},
		{"an offset that is no number", "a=+0z(%di)", "0z(%di)", "no number"},
		{"a name twice", "a=%di a=%si", "a=%si", "already"},
		{"the name of an unnamed one", "arg2=%di %si", "%si", "already"},
		{"a field that is there", "common_pid=%di", "common_pid=%di", "already"},
		{"a name with a dot", "a.b=%di", "a.b=%di", "identifiers"},
		{"no name", "=%di", "=%di", "no name"},
		{"no value", "%di a=", "", "nothing to fetch"},
		{"a value that starts wrong", "a=di", "di", "starts with"},
		{"an array that is too long", "a=+0(%di):u8[65]", "65]", "1 to 64"},
		{"an open bracket", "a=+0(%di):u8[6", "", "not closed"},
		{"bits that do not fit", "a=%di:b4@30/32", "b4@30/32", "does not fit"},
		{"a bitfield of odd size", "a=%di:b4@0/24", "24", "8, 16, 32 or 64"},
		{"a text that is not closed", `a=\"x y"`, ` y"`, "not closed"},
		{"a kernel symbol", "a=@jiffies", "@jiffies", "kernel probes"},
		{"a kernel type", "a=%di:symbol", "symbol", "kernel probes"},
		{"a text's address", "a=+0($comm)", "$comm)", "no address"},
		{"argument 0", "a=$arg0", "0", "no $arg0"},
		{"a comment", "a=%di #b", "#b", "can't read"},
		{"a name that is too long", strings.Repeat("n", 33) + "=%di", "n=%di", "32 characters"},
		{"a value that is too long", "a=" + strings.Repeat("+0(", 16) + "%di" + strings.Repeat(")", 16), "))))", "63 characters"},
		{"too many", strings.Repeat("%di ", 128) + "x=%si", "x=%si", "128"},
	} {
		t.Run(test.name, func(t *testing.T) {
			args, err := ParseFetchArgs(test.text)
			var e *SyntaxError
			if !errors.As(err, &e) {
				t.Fatalf("got %v, %v; want a SyntaxError", args, err)
			}
			if e.Text != test.text || e.Text[e.Pos:] != test.at || !strings.Contains(e.Message, test.message) {
				t.Errorf("%v\nwant %q with the caret at %q", err, test.message, test.at)
			}
		})
	}
}

func TestAnArgumentMayBeNestedThirteenTimesDeepAndNoDeeper(t *testing.T) {
	nested := func(depth int) string {
		return "a=" + strings.Repeat("+0(", depth) + "%di" + strings.Repeat(")", depth) + ":u8"
	}
	if _, err := ParseFetchArgs(nested(13)); err != nil {
		t.Error(err)
	}
	if args, err := ParseFetchArgs(nested(15)); err == nil {
		t.Errorf("15 deep: %v; want an error", args)
	}
}

func FuzzParseFetchArgs(f *testing.F) {
	for _, text := range fetchTable {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args, err := ParseFetchArgs(text)
		var e *SyntaxError
		if err != nil {
			if !errors.As(err, &e) || e.Pos < 0 || e.Pos > len(text) || e.Text != text {
				t.Errorf("%#v", err)
			}
			_ = err.Error()
			return
		}
		var words []string
		for _, arg := range args {
			words = append(words, arg.String())
		}
		again, err := ParseFetchArgs(strings.Join(words, " "))
		if err != nil || !slices.Equal(args, again) {
			t.Errorf("%q gives %q, which gives %q, %v", text, args, again, err)
		}
		for _, arch := range []string{"amd64", "arm64"} {
			for _, isReturn := range []bool{false, true} {
				out, _, err := UserArgs(args, arch, isReturn)
				if err == nil && len(out) != len(args) {
					t.Errorf("of %q came %q", args, out)
				}
			}
		}
	})
}

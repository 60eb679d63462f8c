package uprobe

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtap/ringtap/ftrace"
)

// peerExamples are the definitions of perf-tools' documentation, without their
// flags and filters.
var peerExamples = []string{
	"p:bash:readline",
	"p:/bin/bash:readline",
	"r:bash:readline +0($retval):string",
	"p:libc:sleep",
	"p:libc:sleep %di",
	"r:libc:fopen file=$retval",
	"p:dispatch_command /opt/mysql/bin/mysqld:_Z16dispatch_command19enum_server_commandP3THDPcj +0(%dx):string",
	"p:dispatch_command /opt/mysql/bin/mysqld:_Z16dispatch_command19enum_server_commandP3THDPcj cmd=+0(%dx):string",
	"p:bash:sh_malloc",
	"p:libc:gettimeofday",
	"p:/root/func_abc:func_c",
	"p:libc:0xbf130",
}

func TestTheExamplesOfPerfToolsAreDefinitions(t *testing.T) {
	for _, text := range peerExamples {
		if _, err := Parse(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestADefinitionIsTakenApart(t *testing.T) {
	type m = Definition
	tests := []struct {
		text string
		want m
	}{
		{"p:bash:readline", m{Kind: Entry, Target: "bash", Symbol: "readline"}},
		{"r:bash:readline", m{Kind: Return, Target: "bash", Symbol: "readline"}},
		{"p:name bash:readline", m{Kind: Entry, Alias: "name", Target: "bash", Symbol: "readline"}},
		{"p:  name\t/bin/bash:readline", m{Kind: Entry, Alias: "name", Target: "/bin/bash", Symbol: "readline"}},
		{"p:libc:0xbf130", m{Kind: Entry, Target: "libc", Place: PlaceOffset, Address: 0xbf130}},
		{"p:libc:0Xffffffffffffffff", m{Kind: Entry, Target: "libc", Place: PlaceOffset, Address: 1<<64 - 1}},
		{"p:libc:free+3", m{Kind: Entry, Target: "libc", Symbol: "free", Offset: 3}},
		{"p:libc:free+0x1f", m{Kind: Entry, Target: "libc", Symbol: "free", Offset: 0x1f}},
		{"r:libc:free+0", m{Kind: Return, Target: "libc", Symbol: "free"}},
		{"p:libc:mem*", m{Kind: Entry, Target: "libc", Symbol: "mem*", Pattern: true}},
		{"p:libc:malloc@plt", m{Kind: Entry, Target: "libc", Symbol: "malloc@plt"}},
		{"p:prog:file.c:42", m{Kind: Entry, Target: "prog", Place: PlaceLine, File: "file.c", Line: 42}},
		{"p:prog:src/a.rs:7", m{Kind: Entry, Target: "prog", Place: PlaceLine, File: "src/a.rs", Line: 7}},
		{`p:prog:"my file.c":42`, m{Kind: Entry, Target: "prog", Place: PlaceLine, File: "my file.c", Line: 42}},
		{`p:"/opt/my prog":f`, m{Kind: Entry, Target: "/opt/my prog", Symbol: "f"}},
		{`p:"/opt/a:b":f`, m{Kind: Entry, Target: "/opt/a:b", Symbol: "f"}},
		{`p:a "/opt/my prog":f`, m{Kind: Entry, Alias: "a", Target: "/opt/my prog", Symbol: "f"}},

		{"p:prog:ns::T::f", m{Kind: Entry, Target: "prog", Symbol: "ns::T::f"}},
		{"p:prog:f(int, char const*)", m{Kind: Entry, Target: "prog", Symbol: "f(int, char const*)", Pattern: true}},
		{"p:prog:std::vector<int, std::allocator<int> >::push_back(int const&)", m{Kind: Entry, Target: "prog", Symbol: "std::vector<int, std::allocator<int> >::push_back(int const&)"}},
		{"p:prog:<alloc::vec::Vec<T> as core::ops::Drop>::drop", m{Kind: Entry, Target: "prog", Symbol: "<alloc::vec::Vec<T> as core::ops::Drop>::drop"}},
		{"p:prog:f<fn() -> i32>", m{Kind: Entry, Target: "prog", Symbol: "f<fn() -> i32>"}},
		{`p:prog:int\ ns::f<int>`, m{Kind: Entry, Target: "prog", Symbol: "int ns::f<int>"}},
		{`p:prog:f(int,\ int)+4`, m{Kind: Entry, Target: "prog", Symbol: "f(int, int)", Offset: 4}},
		{`p:prog:int\ ns::*`, m{Kind: Entry, Target: "prog", Symbol: `int\ ns::*`, Pattern: true}},
		{`p:prog:operator\ new[](unsigned\ long)`, m{Kind: Entry, Target: "prog", Symbol: `operator\ new[](unsigned\ long)`, Pattern: true}},
		{"p:prog:*vector<*", m{Kind: Entry, Target: "prog", Symbol: "*vector<*", Pattern: true}},
		{"p:prog:*>::at* n", m{Kind: Entry, Target: "prog", Symbol: "*>::at*", Pattern: true, Fetch: "n", Args: []Arg{{Param: "n"}}}},
		{`p:prog:my\ file.c:42`, m{Kind: Entry, Target: "prog", Place: PlaceLine, File: "my file.c", Line: 42}},
		{"p:prog:T::operator<", m{Kind: Entry, Target: "prog", Symbol: "T::operator<"}},
		{"p:prog:T::operator->", m{Kind: Entry, Target: "prog", Symbol: "T::operator->"}},
		{"p:prog:operator<<(std::ostream&, T const&)", m{Kind: Entry, Target: "prog", Symbol: "operator<<(std::ostream&, T const&)"}},
		{"p:prog:T::operator()(int)", m{Kind: Entry, Target: "prog", Symbol: "T::operator()(int)"}},
		{"p:prog:T::operator+", m{Kind: Entry, Target: "prog", Symbol: "T::operator+"}},
		{"p:prog:T::operator++", m{Kind: Entry, Target: "prog", Symbol: "T::operator++"}},
		{"p:prog:my_operator+4", m{Kind: Entry, Target: "prog", Symbol: "my_operator+4"}},
		{`p:prog:"operator new(unsigned long)"`, m{Kind: Entry, Target: "prog", Symbol: "operator new(unsigned long)"}},
		{`p:prog:"operator new(unsigned long)"+4`, m{Kind: Entry, Target: "prog", Symbol: "operator new(unsigned long)", Offset: 4}},
		{`p:prog:"github.com/x/y.(*T).m"`, m{Kind: Entry, Target: "prog", Symbol: "github.com/x/y.(*T).m"}},
		{`p:prog:"a\"b\\c"`, m{Kind: Entry, Target: "prog", Symbol: `a"b\c`}},
		{`p:prog:main.(*T).m`, m{Kind: Entry, Target: "prog", Symbol: "main.(*T).m", Pattern: true}},

		{"u:prog:provider:name", m{Kind: Mark, Target: "prog", Place: PlaceMark, Provider: "provider", Mark: "name"}},
		{"u:libc:*:*", m{Kind: Mark, Target: "libc", Place: PlaceMark, Provider: "*", Mark: "*"}},
		{"u:a libc:p:n $args", m{Kind: Mark, Alias: "a", Target: "libc", Place: PlaceMark, Provider: "p", Mark: "n", Fetch: "$args", Args: []Arg{{Param: "$args"}}}},

		{"p:prog:f n", m{Kind: Entry, Target: "prog", Symbol: "f", Fetch: "n", Args: []Arg{{Param: "n"}}}},
		{"p:prog:f n  x=name y:u32 z=größe:string ", m{Kind: Entry, Target: "prog", Symbol: "f", Fetch: "n  x=name y:u32 z=größe:string", Args: []Arg{
			{Param: "n"},
			{Param: "name", Fetch: ftrace.FetchArg{Name: "x"}},
			{Param: "y", Fetch: ftrace.FetchArg{Type: "u32"}},
			{Param: "größe", Fetch: ftrace.FetchArg{Name: "z", Type: "string"}},
		}}},
		{"p:prog:f $args", m{Kind: Entry, Target: "prog", Symbol: "f", Fetch: "$args", Args: []Arg{{Param: "$args"}}}},
		{"p:libc:sleep %di", m{Kind: Entry, Target: "libc", Symbol: "sleep", Fetch: "%di", Args: []Arg{{Fetch: ftrace.FetchArg{Fetch: "%di"}}}}},
		{"r:libc:fopen file=$retval", m{Kind: Return, Target: "libc", Symbol: "fopen", Fetch: "file=$retval", Args: []Arg{{Fetch: ftrace.FetchArg{Name: "file", Fetch: "$retval"}}}}},
		{"r:bash:readline +0($retval):string", m{Kind: Return, Target: "bash", Symbol: "readline", Fetch: "+0($retval):string", Args: []Arg{{Fetch: ftrace.FetchArg{Fetch: "+0($retval)", Type: "string"}}}}},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			got, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			test.want.Text = test.text
			if diff := cmp.Diff(&test.want, got, cmpopts.IgnoreFields(Arg{}, "Pos"), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAMistakeInADefinitionIsPointedAt(t *testing.T) {
	long := strings.Repeat("a", 10000)
	tests := []struct {
		name, text, at string // at is the text that begins where the caret is; "" is the end
		message        string
	}{
		{"nothing", "", "", "no colon"},
		{"no colon", "readline", "readline", "no colon"},
		{"another type", "x:bash:readline", "x:", "p: (entry), r: (return) or u: (USDT)"},
		{"a longer type", "pp:bash:readline", "pp:", "p: (entry), r: (return) or u: (USDT)"},
		{"an empty type", ":bash:readline", ":bash", "p: (entry), r: (return) or u: (USDT)"},
		{"type alone", "p:", "", "no target"},
		{"no target", "p:readline", "", "no colon in the target"},
		{"alias and no colon", "p:name readline", "", "no colon in the target"},
		{"an empty target", "p::readline", ":readline", "the target is empty"},
		{"an empty symbol", "p:bash:", "", "the symbol is empty"},
		{"an empty symbol before arguments", "p:bash: %di", " %di", "the symbol is empty"},
		{"an empty quoted symbol", `p:bash:"" %di`, `"" %di`, "the symbol is empty"},
		{"an alias with a hyphen", "p:my-name bash:readline", "-name", "letters, digits and _"},
		{"an alias with a digit first", "p:1st bash:readline", "1st", "letters, digits and _"},
		{"an alias of 64 letters", "p:" + long[:64] + " bash:readline", long[:50], "64 characters"},
		{"an open quote", `p:bash:"readline %di`, `"readline`, "never closed"},
		{"an open quote of the target", `p:"/my prog:f`, `"/my`, "never closed"},
		{"text behind a quote", `p:bash:"readline"x`, `x`, "after the quoted symbol"},
		{"text behind a quoted target", `p:"bash"x:f`, `x:f`, "a colon follows"},
		{"a quote in a symbol", `p:bash:read"line`, `"line`, "a quote within"},
		{"an open parenthesis", "p:prog:f(int %di", "(int", "never closed"},
		{"a closing parenthesis", "p:prog:fint) %di", ") %di", "closes nothing"},
		{"an open angle bracket", "p:prog:f<int %di", "<int", "never closed"},
		{"a closing angle bracket", "p:prog:fint> %di", "> %di", "closes nothing"},
		{"an offset that is no number", "p:libc:free+x", "x", "no offset"},
		{"an offset behind a pattern", "p:libc:mem*+4", "+4", "pattern"},
		{"an offset of a return probe", "r:libc:free+4", "+4", "without an offset"},
		{"an address that is none", "p:libc:0xzz", "0xzz", "no file offset"},
		{"an address of 65 bits", "p:libc:0x1ffffffffffffffff", "0x1f", "no file offset"},
		{"line 0", "p:prog:a.c:0", "0", "no line number"},
		{"a line that is too large", "p:prog:a.c:99999999999", "99999999999", "no line number"},
		{"a line of a return probe", "r:prog:a.c:5", "5", "does not return"},
		{"a USDT probe without a name", "u:prog:provider", "", "PROVIDER:NAME"},
		{"a USDT probe without a provider", "u:prog::name", ":name", "provider is empty"},
		{"a USDT probe with an empty name", "u:prog:provider:", "", "name is empty"},
		{"a USDT probe with a third part", "u:prog:a:b:c", ":c", "further colon"},
		{"a control character", "p:prog:a\x1bb", "a\x1bb", "control character"},
		{"a parameter at the return", "r:prog:f n", "n", "gone when the function returns"},
		{"$args at the return", "r:prog:f $args", "$args", "gone when the function returns"},
		{"$args at an offset", "p:prog:f+4 $args", "$args", "first instruction only"},
		{"$args at an address", "p:prog:0x40 $args", "$args", "first instruction only"},
		{"$args at a line", "p:prog:a.c:4 $args", "$args", "first instruction only"},
		{"$args with a name", "p:prog:f x=$args", "x=$args", "all parameters"},
		{"$args with a type", "p:prog:f $args:u8", "$args:u8", "all parameters"},
		{"a parameter with an empty type", "p:prog:f n:", "", "a type follows"},
		{"a parameter with a type that is none", "p:prog:f %di n:u7", "u7", "u7"},
		{"a fetch argument that is none", "p:prog:f %di +0(%di", "", ""},
		{"a name of 10,000 characters", "p:prog:" + long, long[:40], "a symbol of 10000 characters"},
		{"a target of 10,000 characters", "p:" + long + ":f", long[:40], "a target of 10000 characters"},
		{"10,000 parentheses", "p:prog:f" + strings.Repeat("(", 10000), "(", "never closed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse(test.text)
			var syntax *ftrace.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("the error is %v, no *ftrace.SyntaxError", err)
			}
			if !strings.Contains(syntax.Message, test.message) {
				t.Errorf("the message is %q, want it to say %q", syntax.Message, test.message)
			}
			if syntax.Pos < 0 || syntax.Pos > len(syntax.Text) {
				t.Fatalf("byte %d of %q", syntax.Pos, syntax.Text)
			}
			if rest := syntax.Text[syntax.Pos:]; !strings.HasPrefix(rest, test.at) || test.at == "" && rest != "" {
				t.Errorf("it points at %q, want %q", rest, test.at)
			}
			if len(err.Error()) > 600 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range peerExamples {
		f.Add(text)
	}
	for _, text := range []string{
		`p:a "/x y":"operator new(unsigned long)"+0x4 n x=m:u32 $args`, "p:prog:<T as U>::f<fn() -> i32>(a, b)",
		"p:prog:operator<<(x) y", "u:prog:a:b arg1 x=$arg2:u8", "p:prog:a.c:42 %ax", "r:libc:mem* $retval:s32", "p:prog:T::operator->*", "p:x:(>)", "p:>",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		var syntax *ftrace.SyntaxError
		if err != nil {
			if !errors.As(err, &syntax) {
				t.Fatalf("%q: %v is no *ftrace.SyntaxError", text, err)
			}
			if syntax.Pos < 0 || syntax.Pos > len(syntax.Text) {
				t.Fatalf("%q: byte %d of %q", text, syntax.Pos, syntax.Text)
			}
			return
		}
		if d.Target == "" || d.Place == PlaceFunction && d.Symbol == "" || d.Place == PlaceLine && d.Line == 0 {
			t.Fatalf("%q has an empty part: %+v", text, d)
		}
		for _, a := range d.Args {
			if a.Pos <= 0 || a.Pos >= len(text) || a.Param == "" && a.Fetch.Fetch == "" {
				t.Fatalf("%q: argument %+v", text, a)
			}
		}
	})
}

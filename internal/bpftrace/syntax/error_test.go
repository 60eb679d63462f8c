package syntax

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestErrorsShowTheLineAndTheColumns(t *testing.T) {
	long := strings.Repeat("f(1); ", 100)
	tests := []struct{ name, text, want string }{
		{"a missing semicolon", `begin { printf("x") printf("y") }`, `
stdin:1:21-27: ERROR: expected ";" before "printf"
begin { printf("x") printf("y") }
                    ~~~~~~`},
		{"a missing expression", "begin { $a = ; }", `
stdin:1:14-15: ERROR: expected an expression, found ";"
begin { $a = ; }
             ~`},
		{"a tab and letters of several bytes", "begin {\n\tf(\"é\", 1 2);\n}", `
stdin:2:12-13: ERROR: expected "," or ")", found "2"
    f("é", 1 2);
             ~`},
		{"a long line", "begin { " + long + "1 2; " + long + "}", `
stdin:1:611-612: ERROR: expected ";" or "}", found "2"
…1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); 1 2; f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); f(1); …
                                                             ~`},
		{"a probe type that does not exist", "kprob:f { }", `
stdin:1:1-6: ERROR: there is no probe type "kprob"
kprob:f { }
~~~~~
HINT: Did you mean kprobe?`},
		{"too few words of a probe", "tracepoint:sched_switch { }", `
stdin:1:1-24: ERROR: tracepoint takes 2 words after it, not 1
tracepoint:sched_switch { }
~~~~~~~~~~~~~~~~~~~~~~~
HINT: Write tracepoint:CATEGORY:EVENT.`},
		{"a string that does not end", "begin {\n f(\"abc);\n}", `
stdin:2:4-10: ERROR: the quote is not closed
 f("abc);
   ~~~~~~`},
		{"an escape", `begin { f("ab\q"); }`, `
stdin:1:14-16: ERROR: there is no escape \q; \\ is a backslash
begin { f("ab\q"); }
             ~~`},
		{"a block that does not end", "begin { f();", `
stdin:1:7-8: ERROR: this { has no }
begin { f();
      ~`},
		{"a comment that does not end", "begin { /* f(); }", `
stdin:1:9-11: ERROR: the comment is not closed
begin { /* f(); }
        ~~`},
		{"a number", "begin { $x = 12abc; }", `
stdin:1:14-19: ERROR: 12abc: no number ends in "abc": a number is decimal, octal (017), hexadecimal (0x1f), or like 1e6, 1_000, 10ms
begin { $x = 12abc; }
             ~~~~~`},
		{"several errors", "begin { $x = ; f(; g(1) }\nk:f /$x = 2/ { @ = 1 + ; }\nkk:f { $y = }\nend { h( }", `
stdin:1:14-15: ERROR: expected an expression, found ";"
begin { $x = ; f(; g(1) }
             ~
stdin:1:18-19: ERROR: expected an expression, found ";"
begin { $x = ; f(; g(1) }
                 ~
stdin:2:9-10: ERROR: expected "/", found "="
k:f /$x = 2/ { @ = 1 + ; }
        ~
HINT: == compares, = assigns.
stdin:2:24-25: ERROR: expected an expression, found ";"
k:f /$x = 2/ { @ = 1 + ; }
                       ~
stdin:3:1-3: ERROR: there is no probe type "kk"
kk:f { $y = }
~~
stdin:4:10-11: ERROR: expected an expression, found "}"
end { h( }
         ~`},
		{"what steers a terminal", "begin { \x1b[31m }", `
stdin:1:9-10: ERROR: expected an expression, found "\x1b"
begin { \x1b[31m }
        ~~~~`},
		{"a part of a value", "begin { $x.y = 1; }", `
stdin:1:14-15: ERROR: parts of values can't be assigned to
begin { $x.y = 1; }
             ~
HINT: Make a new value and assign the whole of it.`},
		{"a variable of C", "struct a { int x; } y; begin { }", `
stdin:1:21-22: ERROR: a program defines types, not variables of C
struct a { int x; } y; begin { }
                    ~`},
		{"an import without a way to read", "import \"x.bt\"; begin { }", `
stdin:1:8-14: ERROR: this program can't read other files
import "x.bt"; begin { }
       ~~~~~~`},
		{"an if without a value", "begin { $x = if 1 { 2 }; }", `
stdin:1:14-16: ERROR: this if has no value: both of its blocks must end in an expression without a semicolon
begin { $x = if 1 { 2 }; }
             ~~`},
		{"a keyword", "begin { whille ($x < 3) { $x++; } f() }", `
stdin:1:9-15: ERROR: no block can follow the call of whille
begin { whille ($x < 3) { $x++; } f() }
        ~~~~~~
HINT: Did you mean while?`},
		{"a word at the top", "marco m() { }", `
stdin:1:1-6: ERROR: there is no probe type "marco"
marco m() { }
~~~~~
HINT: Did you mean macro?`},
		{"a directive", "#ifdef A\nbegin { }", `
stdin:1:1-2: ERROR: this #if has no #endif
#ifdef A
~`},
	}
	for _, test := range tests {
		p, err := Parse("", test.text, Options{})
		var list *Errors
		if !errors.As(err, &list) {
			t.Errorf("%s: the error is %v", test.name, err)
			continue
		}
		if got := "\n" + err.Error(); got != test.want {
			t.Errorf("%s:%s\nnot%s", test.name, got, test.want)
		}
		if len(p.Sources) != 1 || len(p.Probes) != 0 {
			t.Errorf("%s: the program has %d texts and %d probes", test.name, len(p.Sources), len(p.Probes))
		}
	}
}

func TestErrorsInImportsNameTheirFile(t *testing.T) {
	fs := files{"a.bt": "begin { f(; }\n"}
	_, err := Parse("main.bt", "import \"a.bt\";\nimport \"b.bt\";\nbegin { }", Options{Import: fs.read})
	want := `a.bt:1:11-12: ERROR: expected an expression, found ";"
begin { f(; }
          ~
main.bt:2:8-14: ERROR: can't read "b.bt": no such file
import "b.bt";
       ~~~~~~`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nnot\n%s", err, want)
	}
	var one *Error
	if !errors.As(err, &one) || one.Error() != `a.bt:1:11: expected an expression, found ";"` {
		t.Errorf("the first error is %v", one)
	}
}

func TestProgramsHaveBounds(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"parentheses", "begin { $x = " + strings.Repeat("(", 1e5) + " }", "nests more than"},
		{"blocks", "begin " + strings.Repeat("{", 1e5), "nests more than"},
		{"operators before an operand", "begin { $x = " + strings.Repeat("!", 1e5) + "1 }", "nests more than"},
		{"operators", "begin { $x = 1" + strings.Repeat("+1", 1e5) + " }", "operators"},
		{"fields", "begin { $x = $y" + strings.Repeat(".a", 1e5) + " }", "operators"},
		{"ternaries", "begin { $x = 1" + strings.Repeat("?1:1", 1e5) + " }", "nests more than"},
		{"else if", "begin { if 1 { } " + strings.Repeat("else if 1 { } ", 5e4) + " }", "nests more than"},
		{"types", "begin { let $x : " + strings.Repeat("(", 1e5) + " }", "nests more than"},
		{"typeof", "begin { $x = " + strings.Repeat("(typeof(", 60) + "1" + strings.Repeat("))", 60) + "; }", ""},
		{"structs", strings.Repeat("struct { ", 1e5), "nests more than"},
		{"declarators", "struct a { int " + strings.Repeat("(", 1e5), "nests more than"},
		{"a macro that doubles", "#define a0 1 1\n" + doubling(40) + "begin { $x = a40; }", "too large"},
		{"a macro whose arguments double", "#define f(x) x x\nbegin { $x = " + strings.Repeat("f(", 40) + "1" + strings.Repeat(")", 40) + " }", ""},
		{"a condition", "#if " + strings.Repeat("(", 1e5) + "\n#endif\n", "nests more than"},
		{"macros one after the other", chain(1000) + "begin { $x = b0; }", "levels deep"},
		{"headers", strings.Repeat("#include <a.h>\n", 5000), "headers"},
		{"a record", "begin { $x = (" + elements(1e5) + "); }", "operators"},
		{"parameters of a macro", "#define f(" + strings.Repeat("a,", 1e5) + "a) " + strings.Repeat("b ", 1e5), ""},
		{"words of a probe", "t" + strings.Repeat(":a", 4e5) + " { }", "too long"},
		{"parameters of a probe", "k:" + strings.Repeat("$1", 3e5) + " { }", "too long"},
		{"text", strings.Repeat(" ", maxText+1), "bytes"},
		{"errors", strings.Repeat("begin { ( }\n", 1000), "expected"},
	}
	for _, test := range tests {
		_, err := Parse("", test.text, Options{})
		var list *Errors
		if !errors.As(err, &list) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		} else if len(list.List) > maxErrors || len(err.Error()) > 1<<14 {
			t.Errorf("%s: %d errors in %d bytes", test.name, len(list.List), len(err.Error()))
		}
	}
}

func TestHeadersOfTheCommandLineHaveABound(t *testing.T) {
	_, err := Parse("", "begin { }", Options{
		Includes: make([]string, maxHeaders+1),
		Header:   func(string) (string, string, bool) { return "x.h", "", true },
	})
	if err == nil || !strings.Contains(err.Error(), "too deeply") {
		t.Error(err)
	}
}

// chain defines macros each of which is the next.
func chain(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "#define b%d b%d\n", i, i+1)
	}
	return s.String()
}

// elements are those of a record.
func elements(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "a%d=1,", i)
	}
	return s.String()
}

// doubling defines macros each of which is twice the one before.
func doubling(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "#define a%d a%d a%d\n", i+1, i, i)
	}
	return s.String()
}

func TestAPlaceHasTheColumnsOfItsCall(t *testing.T) {
	text := "begin { warnf(\"a ) %d\", f(1)); $x = 1; g(\n1) }"
	for col, want := range map[int]string{
		9:  "stdin:1:9-30",  // a call with a call and a parenthesis in it
		25: "stdin:1:25-29", // the inner call
		32: "stdin:1:32-34", // a variable
		40: "stdin:1:40-41", // a call that goes on in the next line
		99: "stdin:1:99-100",
	} {
		if got := Place([]Source{{"", text}}, Pos{"", 1, col}); got != want {
			t.Errorf("column %d: %s, not %s", col, got, want)
		}
	}
}

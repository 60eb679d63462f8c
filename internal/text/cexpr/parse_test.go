package cexpr

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// shape writes an expression with parentheses around everything.
func shape(x Expr) string {
	list := func(list []Expr) string {
		var out []string
		for _, x := range list {
			out = append(out, shape(x))
		}
		return strings.Join(out, " ")
	}
	switch x := x.(type) {
	case *Number:
		return fmt.Sprint(x.Value)
	case *String:
		return fmt.Sprintf("%q", x.Text)
	case *Name:
		return x.Text
	case *Operation:
		switch {
		case x.Op == "[]":
			return shape(x.Args[0]) + "[" + shape(x.Args[1]) + "]"
		case x.Op == "{}":
			return "{" + list(x.Args) + "}"
		case x.Op == "({})":
			return "({" + list(x.Args) + "})"
		case len(x.Args) == 1:
			return "(" + x.Op + shape(x.Args[0]) + ")"
		case len(x.Args) == 2:
			return "(" + shape(x.Args[0]) + x.Op + shape(x.Args[1]) + ")"
		}
		return "(" + shape(x.Args[0]) + "?" + shape(x.Args[1]) + ":" + shape(x.Args[2]) + ")"
	case *Cast:
		return "(<" + x.Type.String() + ">" + shape(x.X) + ")"
	case *SizeOf:
		if x.X == nil {
			return "sizeof<" + x.Type.String() + ">"
		}
		return "sizeof(" + shape(x.X) + ")"
	case *Member:
		return shape(x.X) + x.Op + x.Name.Text
	case *Call:
		return x.Name + "(" + list(x.Args) + ")"
	case *Declaration:
		return x.Type.String() + " " + x.Name + "=" + shape(x.X) + ";"
	}
	return fmt.Sprintf("%T", x)
}

var testParser = Parser{IsType: func(name string) bool { return name == "u8" }, Operand: "a value"}

func TestOperatorsBindAsInC(t *testing.T) {
	for text, want := range map[string]string{
		"1 + 2 * 3 - 4":                 "((1+(2*3))-4)",
		"a | b & c ^ d":                 "(a|((b&c)^d))",
		"a == b && c || d > e":          "(((a==b)&&c)||(d>e))",
		"a << 1 + 2 < b":                "((a<<(1+2))<b)",
		"-a * ~b":                       "((-a)*(~b))",
		"!a->b[1].c":                    "(!a->b[1].c)",
		"*p++":                          "",
		"&x.y - *z":                     "((&x.y)-(*z))",
		"a ? b : c ? d : e":             "(a?b:(c?d:e))",
		"a ? b ? 1 : 2 : 3":             "(a?(b?1:2):3)",
		"a ?: b || c":                   "(a?:(b||c))",
		"(a + b) * c":                   "((a+b)*c)",
		"f(a, g(), {1, \"x\"}, )[2]":    `f(a g() {1 "x"})[2]`,
		"({ int a = (1); f(a); a; })":   "({int a=1; f(a) a})",
		"({ char *p = q; p[1]; })":      "({char* p=q; p[1]})",
		`"a" "b"`:                       `"ab"`,
		"'\\n' + 0x10":                  "(10+16)",
		"$retval->x":                    "$retval->x",
		"($arg1)->x":                    "$arg1->x",
		"(u8)-1":                        "(<u8>(-1))",
		"(x)-1":                         "(x-1)",
		"(x)y":                          "(<x>y)",
		"(x)(y)":                        "(<x>y)",
		"(x)":                           "x",
		"(x *)y->z":                     "(<x*>y->z)",
		"(x * y)":                       "(x*y)",
		"((const struct s *const *)x)":  "(<struct s**>x)",
		"(unsigned long)(void *)x >= 1": "((<unsigned long>(<void*>x))>=1)",
		"sizeof(u8) + sizeof(struct s)": "(sizeof<u8>+sizeof<struct s>)",
		"sizeof((x)->y)":                "sizeof(x->y)",
		"sizeof(x)":                     "sizeof(x)",
	} {
		got := ""
		if x, err := testParser.Parse(text); err == nil {
			got = shape(x)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

func TestErrorsPointAtWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		text string
		at   int
		says string
	}{
		{"", 0, "ends where a value belongs"},
		{"a +", 3, "ends where a value belongs"},
		{"a + )", 4, "a value belongs here"},
		{"a b", 2, `"b" is not understood here`},
		{"a, b", 1, `"," is not understood here`},
		{"(a", 2, "should close"},
		{"a)", 1, "this ) closes nothing"},
		{"a[1", 3, "not closed"},
		{"a[]", 2, "number of an element"},
		{"a->1", 3, "name of a member follows ->"},
		{"a ? b", 5, ": belongs here"},
		{"(struct s)", 10, "ends where"},
		{"(struct s x->y", 11, "a cast is"},
		{"1 + 09", 4, "no number"},
		{`f("x`, 2, "quote"},
		{"'ab'", 0, "one character"},
		{"({ })", 0, "no value"},
		{"({ int a = 1 })", 13, "; belongs here"},
		{"é", 0, "a value belongs here"},
		{strings.Repeat("(", 500), 100, "nests deeper"},
		{strings.Repeat("-", 500), 199, "nests deeper"},
	} {
		_, err := testParser.Parse(test.text)
		var wrong *Error
		if !errors.As(err, &wrong) || wrong.Pos != test.at || !strings.Contains(wrong.Error(), test.says) {
			t.Errorf("%.20s: %v at %+v, want %q at %d", test.text, err, wrong, test.says, test.at)
		}
	}
}

func TestEveryExpressionIsWhereItsErrorsPoint(t *testing.T) {
	list, err := testParser.ParseList("a + b, c ? 1 : 2, d->e, f[3], (u8)g, -h")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{2, 9, 19, 25, 30, 37} {
		if got := list[i].Pos(); got != want {
			t.Errorf("%s is at %d, want %d", shape(list[i]), got, want)
		}
	}
}

func TestConstantsHaveTheirTypes(t *testing.T) {
	for text, want := range map[string]Type{
		"1": Int, "2147483647": Int, "2147483648": Long, "0x80000000": UInt, "0xffffffff": UInt, "1u": UInt, "4294967296": Long,
		"1l": Long, "1ULL": ULong, "0xffffffffffffffff": ULong, "'a'": Int,
	} {
		x, err := testParser.Parse(text)
		if n, ok := x.(*Number); err != nil || !ok || n.Type != want {
			t.Errorf("%s: %+v, %v; want %+v", text, x, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`({ int a = (2); a; })`, "a ? b : c[1]->d", "__print_flags(REC->x, \"|\", {1 << 2, \"A\"}, )", "(struct s *)x", "sizeof(u8)", "1 + 'a' * -0x7ul",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := testParser.ParseList(text)
		var wrong *Error
		if err != nil && (!errors.As(err, &wrong) || wrong.Pos < 0 || wrong.Pos > len(text)) {
			t.Fatalf("%v at %+v", err, wrong)
		}
		for _, x := range list {
			// What is read is read again, unless parentheses came to be casts.
			again, err := testParser.Parse(shape(x))
			if err == nil && !strings.ContainsAny(shape(x), `<"(`) && shape(again) != shape(x) {
				t.Errorf("%s became %s", shape(x), shape(again))
			}
		}
	})
}

func TestFiltersCompareTextsAsTheKernelHasThem(t *testing.T) {
	parser := Parser{Filter: true, Operand: "a comparison"}
	for text, want := range map[string]string{
		`a ~ "x*" && b !~ 'y"' || c & 2`: `(((a~"x*")&&(b!~"y\""))||(c&2))`,
		`a == "\d\"`:                     `(a=="\\d\\")`,
		`!(a ~ "") && a.ustring == "b"`:  `((!(a~""))&&(a.ustring=="b"))`,
	} {
		x, err := parser.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := shape(x); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	if _, err := testParser.Parse(`a ~ "x"`); err == nil {
		t.Error("~ compares in C")
	}
}

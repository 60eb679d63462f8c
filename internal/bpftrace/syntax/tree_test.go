package syntax

import (
	"strings"
	"testing"
)

// probeOf returns the printed statements of a program of one probe.
func probeOf(t *testing.T, text string) string {
	t.Helper()
	p, err := Parse("", text, Options{})
	if err != nil {
		t.Errorf("%s\n%v", text, err)
		return ""
	}
	return strings.TrimSpace(p.String())
}

func TestExpressionsBindAsInC(t *testing.T) {
	tests := []struct{ text, want string }{
		{"1", "1"},
		{"1 + 2 * 3 - 4", "(- (+ 1 (* 2 3)) 4)"},
		{"1 - 2 - 3", "(- (- 1 2) 3)"},
		{"1 << 2 + 3 < 4 == 5", "(== (< (<< 1 (+ 2 3)) 4) 5)"},
		{"1 | 2 ^ 3 & 4 == 5", "(| 1 (^ 2 (& 3 (== 4 5))))"},
		{"1 || 2 && 3 | 4", "(|| 1 (&& 2 (| 3 4)))"},
		{"1 ? 2 : 3 ? 4 : 5", "(? 1 2 (? 3 4 5))"},
		{"1 ?: 2", "(? 1 2)"},
		{"1 ? : 2", "(? 1 2)"},
		{"$a ? $b : $c == 2", "(? $a $b (== $c 2))"},
		{"(1 + 2) * 3", "(* (+ 1 2) 3)"},
		{"-1", "-1"},
		{"- 1", "-1"},
		{"-(1)", "-1"},
		{"--$x - -1", "(- (-- $x) -1)"},
		{"!~-$x", "(! (~ (- $x)))"},
		{"-$x.y", "(- (. $x y))"},
		{"*$x++", "(* (post++ $x))"},
		{"**$p", "(* (* $p))"},
		{"&$x", "(& $x)"},
		{"&@x", "(& @x)"},
		{"$x.y.0[1]->z", "(-> ([] (. (. $x y) 0) 1) z)"},
		{"$kv.0.1", "(. (. $kv 0) 1)"},
		{"args->x + args.y", "(+ (-> args x) (. args y))"},
		{"args.x.y", "(. (. args x) y)"},
		{"@x[1, pid][2]", "([] (@x 1 pid) 2)"},
		{"@[(1, 2)]", "(@ (tuple 1 2))"},
		{"@", "@"},
		{"@x++", "(post++ @x)"},
		{"@a[1]++ + 1", "(+ (post++ (@a 1)) 1)"},
		{"f(1, g(), \"a\")", "(f 1 (g) \"a\")"},
		{"m!(1)", "(m! 1)"},
		{"$1 + $12 + $#", "(+ (+ $1 $12) $#)"},
		{"true != false", "(!= true false)"},
		{"(1,)", "(tuple 1)"},
		{"()", "(tuple)"},
		{"(1, \"a\", (2, 3))", "(tuple 1 \"a\" (tuple 2 3))"},
		{"(a=1, b=(c=2))", "(record (a= 1) (b= (record (c= 2))))"},
		{"(pid == 1)", "(== pid 1)"},
		{"{ $a = 1; $a + 1 }", "({} (= $a 1) (=> (+ $a 1)))"},
		{"comptime (1 + 2)", "(comptime (+ 1 2))"},
		{"if pid == 1 { 2 } else if (tid) { 3 } else { 4 }", "(? (== pid 1) ({} (=> 2)) (? tid ({} (=> 3)) ({} (=> 4))))"},
	}
	for _, test := range tests {
		want := "(probe \"begin\" (= @r " + test.want + "))"
		if got := probeOf(t, "begin { @r = "+test.text+"; }"); got != want {
			t.Errorf("%s is %s, not %s", test.text, got, want)
		}
	}
}

func TestCastsAreTypesInParentheses(t *testing.T) {
	tests := []struct{ text, want string }{
		{"(uint8)1", "(cast uint8 1)"},
		{"(uint8)-1", "(cast uint8 -1)"},
		{"(struct a *)arg0", "(cast struct a* arg0)"},
		{"((struct a *)arg0)->b", "(-> (cast struct a* arg0) b)"},
		{"(struct a *)arg0->b", "(cast struct a* (-> arg0 b))"},
		{"*(int32 *)$x", "(* (cast int32* $x))"},
		{"**(int64**)reg(\"sp\") + 16", "(+ (* (* (cast int64** (reg \"sp\")))) 16)"},
		{"(int8[4])1", "(cast int8[4] 1)"},
		{"(int8[])1", "(cast int8[] 1)"},
		{"(int32*[4]*)1", "(cast int32*[4]* 1)"},
		{"(unsigned long)$x", "(cast unsigned long $x)"},
		{"(const char *)$x", "(cast char* $x)"},
		{"(uint16)(uint8)$x", "(cast uint16 (cast uint8 $x))"},
		{"(string[64])arg0", "(cast string[64] arg0)"},
		{"(enum e)1", "(cast enum e 1)"},
		{"(union u *)1", "(cast union u* 1)"},
		{"(pid)*tid", "(* pid tid)"},
		{"(pid) - 1", "(- pid 1)"},
		{"(arg0) - 1", "(- arg0 1)"},
		{"(sarg0) & 1", "(& sarg0 1)"},
		{"(nsecs - @s) / 1000", "(/ (- nsecs @s) 1000)"},
		{"(myident)*$a", "(cast myident (* $a))"},
		{"(myident)*arg0", "(cast myident (* arg0))"},
		{"(myident) + 1", "(+ myident 1)"},
		{"(a * b)", "(* a b)"},
		{"(a[1])", "([] a 1)"},
		{"(typeof($x))$y", "(cast (typeof $x) $y)"},
		{"(typeof(int8*))$y", "(cast int8* $y)"},
		{"(typeof($x)*)$y", "(cast (typeof $x)* $y)"},
		{"sizeof(struct a)", "(sizeof (type struct a))"},
		{"sizeof(uint32*[10])", "(sizeof (type uint32*[10]))"},
		{"sizeof(unsigned long)", "(sizeof (type unsigned long))"},
		{"sizeof(name)", "(sizeof (type name))"},
		{"sizeof(name[1])", "(sizeof (type name[1]))"},
		{"sizeof((name)[1])", "(sizeof ([] name 1))"},
		{"sizeof(name())", "(sizeof (name))"},
		{"sizeof(pid)", "(sizeof pid)"},
		{"sizeof($x)", "(sizeof $x)"},
		{"sizeof(args.x)", "(sizeof (. args x))"},
		{"sizeof({ $a = (int8)1; $a })", "(sizeof ({} (= $a (cast int8 1)) (=> $a)))"},
		{"offsetof(struct a, b.c)", "(offsetof (type struct a) b.c)"},
		{"offsetof($x, b)", "(offsetof $x b)"},
		{"offsetof(*$x, b)", "(offsetof (* $x) b)"},
		{"typeinfo(int8*)", "(typeinfo (type int8*))"},
		{"typeinfo($x)", "(typeinfo $x)"},
		{"f(typeof(uint8), 1)", "(f (type uint8) 1)"},
		{"f(struct a*)", "(f (type struct a*))"},
	}
	for _, test := range tests {
		want := "(probe \"begin\" (= @r " + test.want + "))"
		if got := probeOf(t, "begin { @r = "+test.text+"; }"); got != want {
			t.Errorf("%s is %s, not %s", test.text, got, want)
		}
	}
}

func TestNumbersAndStringsHaveTheirValues(t *testing.T) {
	tests := []struct{ text, want string }{
		{"0", "0"}, {"017", "15"}, {"0x1F", "31"}, {"0XfF", "255"}, {"1_000_000", "1000000"}, {"1e6", "1000000"}, {"2E3", "2000"},
		{"1e0", "1"}, {"0e99999999", "0"}, {"123UL", "123"}, {"0x10ull", "16"}, {"18446744073709551615", "18446744073709551615"}, {"1ns", "1"},
		{"5us", "5000"}, {"10ms", "10000000"}, {"1s", "1000000000"}, {"1m", "60000000000"}, {"2h", "7200000000000"},
		{"1d", "86400000000000"}, {"1e3s", "1000000000000"}, {"0xffffffffffffffff", "18446744073709551615"}, {"'A'", "65"}, {`'\n'`, "10"},
		{`"a\n\t\"\\b"`, `"a\n\t\"\\b"`}, {`"\033[31m"`, `"\x1b[31m"`}, {`"\x41\101"`, `"AA"`}, {`"é"`, `"é"`}, {`"\0"`, `"\x00"`},
		{`"// no comment /* */"`, `"// no comment /* */"`},
	}
	for _, test := range tests {
		want := "(probe \"begin\" (= @r " + test.want + "))"
		if got := probeOf(t, "begin { @r = "+test.text+"; }"); got != want {
			t.Errorf("%s is %s, not %s", test.text, got, want)
		}
	}
}

func TestStatements(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{";;", ""},
		{"@ = 1", "(= @ 1)"},
		{"@a[1] <<= 2; $x %= 3;", "(<<= (@a 1) 2) (%= $x 3)"},
		{"_ = f();", "(= _ (f))"},
		{"let $x; let $y = 1; let $z : int8; let $w : struct a*[3] = 2", "(let $x) (let $y 1) (let $z : int8) (let $w : struct a*[3] 2)"},
		{"let $t : (int8, string[4]);", "(let $t : (tuple int8 string[4]))"},
		{"let $t : typeof(@a) = @a;", "(let $t : (typeof @a) @a)"},
		{"if (1) { f(); } else if $x { g() } else { }", "(if 1 ({} (f)) (if $x ({} (g)) ({})))"},
		{"if (1) { 1 } f();", "(if 1 ({} 1)) (f)"},
		{"if (1) { 1 } else { 2 } f();", "(if 1 ({} 1) ({} 2)) (f)"},
		{"if (1) { f(); };", "(if 1 ({} (f)))"},
		{"{ f(); { 1 } }", "({} (f) ({} 1))"},
		{"while (1) { break; continue }", "(while 1 ({} (break) (continue)))"},
		{"unroll(3) { @++ } unroll (4) { }", "(unroll 3 ({} (post++ @))) (unroll 4 ({}))"},
		{"unroll $1 { @++; }", "(unroll $1 ({} (post++ @)))"},
		{"for ($kv : @a) { f($kv.0); }", "(for $kv @a ({} (f (. $kv 0))))"},
		{"for $kv : @a { }", "(for $kv @a ({}))"},
		{"for ($i : 0..10) { } for $i : $a..ncpus { }", "(for $i 0 10 ({})) (for $i $a ncpus ({}))"},
		{"for ($i : (1+2)..-(3)) { }", "(for $i (+ 1 2) -3 ({}))"},
		{"return; ", "(return)"},
		{"return 1", "(return 1)"},
		{"print(@x, 5, 1); clear(@x); delete(@x[1]); delete(@x, 1);", "(print @x 5 1) (clear @x) (delete (@x 1)) (delete @x 1)"},
		{"$x++; ++$x; $x--", "(post++ $x) (++ $x) (post-- $x)"},
		{"$a == 1 ? print(\"t\") : print(\"f\");", "(? (== $a 1) (print \"t\") (print \"f\"))"},
		{"f() // a comment\n; /* another\n */ g()", "(f) (g)"},
	}
	for _, test := range tests {
		want := strings.TrimSuffix("(probe \"begin\" "+test.want, " ") + ")"
		if got := probeOf(t, "begin { "+test.text+" }"); got != want {
			t.Errorf("%s is %s, not %s", test.text, got, want)
		}
	}
}

func TestPrograms(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"both dialects name begin and end", "BEGIN { f(); } END { g() } begin{}end{}",
			`(probe "begin" (f))` + "\n" + `(probe "end" (g))` + "\n" + `(probe "begin")` + "\n" + `(probe "end")`},
		{"a first line for the shell", "#!/usr/bin/env bpftrace\nbegin { }", `(probe "begin")`},
		{"a config block", "config = { BPFTRACE_STACK_MODE=perf; max_map_keys = 1_000; a=\"b\"; c = true } begin { }",
			"(config stack_mode perf)\n(config max_map_keys 1000)\n(config a \"b\")\n(config c true)\n(probe \"begin\")"},
		{"maps", "let @a = lruhash(100);\nlet @b = hash(5) begin { }", "(let @a lruhash 100)\n(let @b hash 5)\n(probe \"begin\")"},
		{"a macro", "macro m($a, @b, c) { @b[$a] = c; c + 1 } begin { }",
			"(macro m ($a @b c) ({} (= (@b $a) c) (=> (+ c 1))))\n(probe \"begin\")"},
		{"a macro without parameters", "macro one { 1 } begin { }", "(macro one () ({} (=> 1)))\n(probe \"begin\")"},
		{"a macro whose value an if chooses", "macro m(c) { if c { 1 } else { 2 } } begin { }",
			"(macro m (c) ({} (=> (? c ({} (=> 1)) ({} (=> 2))))))\n(probe \"begin\")"},
		{"a macro that ends in an if without a value", "macro m(c) { if c { f(); } } begin { }",
			"(macro m (c) ({} (if c ({} (f)))))\n(probe \"begin\")"},
		{"a function", "fn f($a : int8, $b : struct x*) : void { return; } begin { }",
			"(fn f (param $a int8) (param $b struct x*) void ({} (return)))\n(probe \"begin\")"},
		{"a predicate with a division and a comparison", "k:f / 10 / 2 == @a[pid] / 5 / { }",
			`(probe "kprobe:f" (if (== (/ 10 2) (/ (@a pid) 5))))`},
		{"a predicate before a comment", "k:f /pid/ // yes\n { }", `(probe "kprobe:f" (if pid))`},
		{"words in any place", "k:f { $config = args.struct; args->let }", `(probe "kprobe:f" (= $config (. args struct)) (-> args let))`},
	}
	for _, test := range tests {
		if got := probeOf(t, test.text); got != test.want {
			t.Errorf("%s:\n%s\nnot\n%s", test.name, got, test.want)
		}
	}
}

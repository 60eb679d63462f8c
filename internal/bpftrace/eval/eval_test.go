package eval

import (
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
)

func TestProgramsPrintWhatBpftracePrints(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"literals fold exactly", `print(7 / -2); print(-8 >> 1); print(~5); print(1 << 63)`, "-3\n-4\n18446744073709551610\n9223372036854775808"},
		{"division of variables is unsigned", `$a = -7; print($a / 2)`, "9223372036854775804"},
		{"a division by 0 is 1", `$z = 0; print(5 / $z)`, "1"},
		{"a remainder by 0 is 1", `$z = 0; print(5 % $z)`, "1"},
		{"a mixed comparison is signed", `$a = (uint64)1; $b = -1; print($a > $b)`, "true"},
		{"casts cut and extend", `print((int8)200); print((uint8)300); print((uint32)-1); print((int32)(uint32)4294967295)`, "-56\n44\n4294967295\n-1"},
		{"increments yield old and new", `$q = 5; print($q++); print($q); print(++$q)`, "5\n6\n7"},
		{"a map counts up from nothing", `@x++; @x++; print(@x); @y--; print(@y)`, "@x: 2\n@y: -1"},
		{"strings compare by their text", `$s = "hello"; if ($s == "hello") { print("same") } if ($s != "x") { print("other") }`, "same\nother"},
		{"tuples compare by their elements", `$a = (1, "x"); $b = (1, "x"); print($a == $b); print($a != (1, "y"))`, "true\ntrue"},
		{"tuples have members", `$t = (1, ("a", -2)); print($t.1.1); print($t)`, "-2\n(1, (a, -2))"},
		{"a key of several parts is a tuple", `@a[1, "x"] = 5; $k = (1, "x"); print(@a[$k]); print(has_key(@a, (1, "y")))`, "5\nfalse"},
		{"delete tells whether the key was there", `@a[1] = 1; print(delete(@a, 1)); print(delete(@a, 1)); print(len(@a))`, "true\nfalse\n0"},
		{"find sets the variable", `@a[2] = 7; let $v; if (find(@a, 2, $v)) { print($v) } if (!find(@a, 3, $v)) { print("no") }`, "7\nno"},
		{"a range leaves its end out", `$a = 3; for ($i : 0..$a) { print($i); $a--; }`, "0\n1\n2"},
		{"break and continue", `for ($i : 0..10) { if ($i == 1) { continue } if ($i == 3) { break } print($i) }`, "0\n2"},
		{"a loop goes over a map", `@m[1] = 10; @m[2] = 20; for ($kv : @m) { print($kv.0 + $kv.1) }`, "11\n22"},
		{"a loop over a map goes in the order in which it is printed", `@c["x"] = count(); @c["x"] = count(); @c["y"] = count(); for ($kv : @c) { print($kv.0) }`, "y\nx"},
		{"unroll repeats", `$i = 0; unroll(3) { $i++ } print($i)`, "3"},
		{"while ends", `$i = 0; while ($i < 3) { $i++ } print($i)`, "3"},
		{"a ternary takes one side", `$x = 5; print($x > 3 ? "big" : "small"); $x > 3 ? print(1) : print(2)`, "big\n1"},
		{"and does not evaluate what does not matter", `$x = 0; if ($x && $x++) { } print($x)`, "0"},
		{"macros are hygienic", `print(m($a, 5)); print($a)`, "6\n15"},
		{"functions of strings", `print(strlen("hello")); print(strcontains("hello", "ell")); print(strstr("hello", "lo")); print(strncmp("abc", "abd", 2)); print(str("hello", 3))`, "5\ntrue\n3\n0\nhel"},
		{"printf formats", `printf("%d %s %x %c", 5, "x", 255, 65)`, "5 x ff A"},
		{"exit ends the hit", `print(1); exit(3); print(2)`, "1"},
		{"aggregations", `@c = count(); @c = count(); @s = sum(-5); @s = sum(3); @mi = min(-5); @mi = min(7); print(@c); print(@s); print(@mi); print((int64)@c + 1)`, "@c: 2\n@s: -2\n@mi: -5\n3"},
		{"zero keeps the keys", `@a[1] = 5; zero(@a); print(@a)`, "@a[1]: 0"},
		{"the header of a hit", `print(pid); print(tid); print(comm); print(cpu)`, "42\n43\ncat\n1"},
		{"words stand for numbers", `print(signal_name(9)); print(fdpath(3))`, "signal_name-9\nfdpath-3"},
		{"flags of allocations", `printf("%gr|%9gr|%-9gr|%.3gr|", 0xcc0, 1, 1, 1)`, "flags3264|   flags1|flags1   |fla|"},
		{"bytes as lines", `printf("%#r|%#rh", buf("a\nb", 3), buf("a\nb", 3))`, "a\nb|610a62"},
		{"symbols have texts", `print(str(ksym(5)))`, "ksym-5"},
		{"a number in a file", `print(file_number("a", "file")); print(file_number("7", "file"))`, "-1\n7"},
		{"records have names", `$r = (a=1, b="x"); print($r.b); print($r.a)`, "x\n1"},
		{"a record takes one whose names come in another order", `$a = (x={ printf("1"); 1 }, y={ printf("2"); 2 }); $a = (y={ printf("3"); 500 }, x={ printf("4\n"); 6 }); print($a)`, "1234\n{ .x = 6, .y = 500 }"},
		{"so does a map", `@m = (a=1, b="xy"); @m = (b="longer", a=300); print(@m); @k[(a=1, b=2)] = 5; print(@k[(b=2, a=1)])`, "@m: { .a = 300, .b = longer }\n5"},
		{"so does a tuple of records", `$t = (1, (x=1, y=2)); $t = (2, (y=5, x=6)); print($t)`, "(2, { .x = 6, .y = 5 })"},
		{"records compare by their names", `$a = (a=1, b=2); $b = (b=2, a=1); print($a == $b); print((a=1, b=2) == (b=2, a=1)); print((a=1, b=2) != (b=1, a=2))`, "true\ntrue\ntrue"},
		{"curtask is never null", `if (curtask) { print(1) } print(curtask ? 2 : 3); print((curtask && 0) ? 4 : 5); print((curtask || 0) ? 6 : 7); print(!curtask)`, "1\n2\n5\n6\nfalse"},
		{"a string may have several lines", "print(\"a\nb\"); printf(\"c\\\\\n\"); print(\"d\")", "a\nb\nc\\\nd"},
		{"bswap and sizes", `print(bswap((uint32)1)); print(sizeof(uint32)); print(sizeof((uint8)1))`, "16777216\n4\n1"},
		{"bytes of an array", `$a = (uint8[4])0x04030201; print($a[2])`, "3"},
		{"pton and a cast", `print((uint32)pton("127.0.0.1"))`, "16777343"},
		{"a key is evaluated once", `$i = 0; @a[$i++] += 5; @a[$i++] += 7; print($i); print(@a[0]); @b[1, $i++] += 2; print(@b[1, 2]); @a[{ $i++; 0 }]++; print(@a[0]); print($i)`, "2\n5\n2\n6\n4"},
		{"a block leaves its loop", `for ($i : 0..5) { $x = { if ($i == 1) { continue; } if ($i == 3) { break; } $i * 2 }; print($x) }`, "0\n4"},
		{"a block leaves the probe", `print(1); @x = { if (1) { return; } 5 }; print(2)`, "1"},
		{"a block leaves before its statement does anything", `if ({ return; 1 }) { print(1) }`, ""},
		{"a block in a block leaves", `$x = { $y = { if (1) { return; } 3 }; $y }; print($x)`, ""},
		{"exit in an expression ends the hit", `$x = { exit(); 1 }; print($x)`, ""},
		{"exit in a condition ends its loop", `while ({ exit(); 1 }) { print(1) } print(2)`, ""},
		{"str cuts a literal", `config`, "abc"},
		{"typeinfo has the names of types", `$a = (uint8)1; print(typeinfo($a)); print(typeinfo(int8 *).full_type); print(typeinfo((1, "x")).base_type)`, "{ .btf_id = 0, .base_type = int, .full_type = uint8 }\nint8 *\ntuple"},
		{"typeinfo folds", `$a = "x"; if comptime (typeinfo($a).base_type == "string") { print(1) } else { fail("no") } if comptime (typeinfo($a) != typeinfo(1)) { print(2) } if comptime (typeinfo((uint64)1).full_type[0] == "u"[0]) { print(3) }`, "1\n2\n3"},
		{"config has the settings", `print(config.max_strlen); print(config.stack_mode); if comptime (config.print_maps_on_exit) { print(1) }`, "1024\nbpftrace\n1"},
		{"assert_str says nothing of a string", `assert_str("x"); assert_str((int8 *)0); print(1)`, "1"},
		{"comm of a process", `print(comm(7))`, "comm-7"},
		{"the probe's name is a string", `print(probe == "begin"); $p = probe; if ($p != "end") { print(2) } print(strcontains(probe, "beg"))`, "true\n2\ntrue"},
		{"a block's aggregation goes to the map", `@ = { let $a = 100; avg($a) }; @ = { avg(50) }; print(@)`, "@: 75"},
		{"a tuple has elements by constant index", `$a = (1, "x", 3); print($a[1]); print($a[1 + 1])`, "x\n3"},
		{"bytes of a string have its end", `@[buf("key", 4)] = 1; print(@); print(buf("key", 2))`, "@[key\\x00]: 1\nke"},
		{"config is a call, too", `print(config().max_strlen)`, "1024"},
		{"a block has a value", `let $x = { let $y = 2; $y * 3 }; print($x)`, "6"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "begin { " + test.text + " }"
			if test.text == "config" {
				text = `config = { max_strlen = 4; str_trunc_trailer = "" } begin { printf("%s", str("abcdef")) }`
			}
			if test.name == "macros are hygienic" {
				text = "macro m($v, e) { $t = e; $v += $t; $t + 1 } begin { $a = 10; " + test.text + " }"
			}
			got, _ := run(t, text, check.Current)
			if got != test.want {
				t.Errorf("%s\nprints %q\nnot    %q", test.text, got, test.want)
			}
		})
	}
}

func TestTextsAreCutAsTheDialectCounts(t *testing.T) {
	const text = `begin { $s = "hello"; $n = (uint64)3; print(str($s, 3)); print(str("hello", $n)); print(str($s, 0)); print(str($s, 1)); print(str($s, 9)); print(str("hello", 3)); }`
	for dialect, want := range map[check.Dialect]string{
		check.Current: "he\nhe\n\n\nhello\nhel",
		check.Default: "hel\nhel\n\nh\nhello\nhel",
		check.V017:    "hel\nhel\n\nh\nhello\nhel",
	} {
		if got, _ := run(t, text, dialect); got != want {
			t.Errorf("in dialect %d it prints %q, want %q", dialect, got, want)
		}
	}
}

func TestResultsThatReleasesDisagreeAboutAreTheDialects(t *testing.T) {
	for text, want := range map[string]map[check.Dialect]string{
		`$z = 0; print((uint64)10 / (uint64)$z)`: {check.Current: "1", check.Default: "0", check.V017: "0"},
		`$z = 0; print((uint64)10 % (uint64)$z)`: {check.Current: "1", check.Default: "10", check.V017: "10"},
		`$a = (uint32)5; print(~$a)`:             {check.Current: "18446744073709551610", check.Default: "4294967290", check.V017: "4294967290"},
		`print(~pid)`:                            {check.Current: "18446744073709551573", check.Default: "18446744073709551573", check.V017: "18446744073709551573"},
		`print(7 / -2)`:                          {check.Current: "-3", check.Default: "-3"},
		`print((uint64)1 > -1)`:                  {check.Current: "true", check.Default: "true"},
	} {
		for dialect, want := range want {
			if got, _ := run(t, "begin { "+text+" }", dialect); got != want {
				t.Errorf("in dialect %d, %s prints %q, want %q", dialect, text, got, want)
			}
		}
	}
}

func TestMacrosTakeTypesOfTheirArguments(t *testing.T) {
	got, _ := run(t, `let @idle = hash(1); macro add(x) { let $y : typeof(x); $y = 1; x + $y } macro cpu(x) { x } begin { print(add(5)); print(cpu("hi")); print(cpu()) }`, check.Current)
	if got != "6\nhi\n1" {
		t.Errorf("prints %q", got)
	}
}

func TestADeleteThatFindsNothingIsSaid(t *testing.T) {
	for text, want := range map[string]int{
		`delete(@a, 2)`: 1, `delete(@a[2])`: 1, `delete(@a, 1)`: 0, `_ = delete(@a, 2)`: 0, `if (delete(@a, 2)) { }`: 0,
	} {
		if _, host := run(t, "begin { @a[1] = 1; "+text+" }", check.Current); len(host.messages) != want {
			t.Errorf("%s: messages are %q", text, host.messages)
		}
	}
}

func TestEndlessProgramsStop(t *testing.T) {
	for _, text := range []string{
		`begin { while (1) { @++ } }`,
		`begin { unroll(100) { unroll(100) { unroll(100) { unroll(100) { @++ } } } } }`,
		`fn f($x : int64) : int64 { return f($x) + f($x); } begin { print(f(1)) }`,
		`begin { for ($i : 0..9000000000) { @++ } }`,
	} {
		m, _, _, host := machine(t, text, check.Current)
		m.opts.steps = 10_000
		m.Hit(0, &Hit{})
		if len(host.messages) == 0 {
			t.Errorf("%s stops without a message", text)
		}
	}
}

func TestAnInterruptionEndsOnlyLoopsThatTakeLong(t *testing.T) {
	m, _, _, _ := machine(t, `begin { for ($i : 0..10) { @short++ } } begin { while (1) { @long++ } }`, check.Current)
	m.Interrupt()
	m.Hit(0, &Hit{})
	m.Hit(1, &Hit{})
	if n := m.Maps[0].Entries()[0].Value().N; n != 10 {
		t.Errorf("a short loop ends after %d rounds, want 10", n)
	}
}

func TestExitStopsAllButEnd(t *testing.T) {
	m, printer, out, _ := machine(t, `begin { print(1); exit(7); print(2) } interval:s:1 { print(3) } end { print(4) }`, check.Current)
	for i := range 2 {
		m.Hit(i, &Hit{})
	}
	m.End(2, &Hit{})
	if err := printer.Flush(); err != nil {
		t.Fatal(err)
	}
	if code, exited := m.Exited(); out.String() != "1\n4\n" || code != 7 || !exited {
		t.Errorf("prints %q, exits with %d, %v", out, code, exited)
	}
}

func TestMapsKeepToTheirBounds(t *testing.T) {
	m, _, _, _ := machine(t, `config = { max_map_keys = 3 } begin { for ($i : 0..10) { @[$i] = count() } }`, check.Current)
	m.Hit(0, &Hit{})
	if m.Maps[0].Len() != 3 || m.Maps[0].Dropped.Keys != 7 {
		t.Errorf("%d keys, %d dropped", m.Maps[0].Len(), m.Maps[0].Dropped.Keys)
	}
}

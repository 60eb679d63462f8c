package syntax

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// shippedTools are the programs that bpftrace's package installs.
func shippedTools(t testing.TB) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("/usr/sbin/*.bt")
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tools[path] = string(text)
	}
	return tools
}

func TestPeerToolsOfTheDistributionParse(t *testing.T) {
	tools := shippedTools(t)
	if len(tools) == 0 {
		t.Skip("bpftrace is not installed")
	}
	for path, text := range tools {
		for _, defines := range []map[string]string{nil, {"BPFTRACE_HAVE_BTF": "1"}} {
			p, err := Parse(path, text, Options{Defines: defines})
			if err != nil {
				t.Error(err)
			} else if len(p.Probes) == 0 {
				t.Errorf("%s has no probes", path)
			}
		}
	}
}

// FuzzParse reads anything. What is read has positions in the text, and is printed; what is
// not has errors with positions, which are printed too.
func FuzzParse(f *testing.F) {
	fuzzing.Bound(f)
	for _, text := range shippedTools(f) {
		f.Add(text)
	}
	for _, text := range []string{
		"#!/usr/bin/env bpftrace\nconfig = { stack_mode=perf; x = 1 }\nimport \"a.bt\";\nlet @a = hash(5);",
		"macro m($a, @b, c) { let $x : int8[4]* = (int8)c; $a += { $x; 1 }; @b[$a, 1]++; if c { 1 } else { 2 } }",
		"fn f($a : struct x*) : (int8, string[4]) { return (1, \"a\"); }",
		"begin { for ($kv : @a) { print($kv.0.1); } for $i : 0..10 { continue; } unroll(3) { } while (1) { break; } }",
		"k:a,u:/x:\"f(int)\"+1 / $1 == @[pid, (1,)] / 2 / { $x = (a=1, b=(uint8)-1 ?: 0x1f); _ = comptime sizeof(typeof($x)); }",
		"#define A(x, y) ((x) + B)\n#define B A(1, 2)\n#if A(1, 2) > 3 || defined(A)\n#include <linux/a.h>\n#include \"a.h\"\n#else\n#endif\n",
		"struct a { int x:3, *y[4]; union { void (*f)(int); }; enum e { X = 'a', Y } z; } __attribute__((packed, aligned(8)));",
		"typedef struct { char c[X + 1]; } a, *b; begin { printf(\"\\x41\\n\\033\", offsetof(a, c.d), $#, args->x.0[1], 1e6, 10ms); }",
		"$1:f { } *ware:* { } uprobe:/x@y.c:1 { }",
	} {
		f.Add(text)
	}
	fs := files{"a.bt": "import \"a.h\"; begin { }", "a.h": "struct h { int x; }; int f(void) { }"}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("x", text, Options{Positional: []string{"kprobe", "a:b"}, Import: fs.read})
		if err == nil {
			_ = p.String()
			return
		}
		var list *Errors
		if !errors.As(err, &list) || len(list.List) == 0 {
			t.Fatalf("%v is no list of errors", err)
		}
		_ = err.Error()
		for _, e := range list.List {
			if e.Line < 1 || e.Col < 1 || e.Msg == "" {
				t.Errorf("%+v", e)
			}
		}
	})
}

func TestShippedProgramsParse(t *testing.T) {
	paths, err := filepath.Glob("../../../scripts/*.bt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no programs (%v)", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(path, string(text), Options{})
		if err != nil {
			t.Error(err)
		} else if len(p.Probes) == 0 {
			t.Errorf("%s has no probes", path)
		}
	}
}

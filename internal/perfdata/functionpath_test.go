package perfdata

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAFunctionsPathIsALineThatEndsInItsName(t *testing.T) {
	long := strings.Repeat("n", 5000)
	for want, f := range map[string][3]string{ // runtime, source, function
		"/app/a.py:f":                  {"CPython 3.12", "/app/a.py", "f"},
		"PHP 8.2:strlen":               {"PHP 8.2", "", "strlen"},
		"[truncated]":                  {"", "", "[truncated]"},
		"A.java:A$$Lambda|0x7f.f":      {"HotSpot 17", "A.java", "A$$Lambda/0x7f.f"},
		"x?y.rb:a?b":                   {"Ruby 3.3", "x\ny.rb", "a\x00b"},
		"V8:" + long[:4095-len("V8:")]: {"V8", "", long},
	} {
		if got := FunctionPath(f[0], f[1], f[2]); got != want {
			t.Errorf("%.50q, want %.50q", got, want)
		}
	}
}

func TestAPathSaysWhichFunctionItIs(t *testing.T) {
	for path, want := range map[string][3]string{
		"/app/a.py:f":          {"runtime", "/app/a.py", "f"},
		"lib.pl:Foo::bar":      {"runtime", "lib.pl", "Foo::bar"},
		"node:internal/x:load": {"runtime", "node:internal/x", "load"},
		"[truncated]":          {"", "", "[truncated]"},
	} {
		f := FunctionOf(path)
		if diff := cmp.Diff(want, [3]string{f.Runtime, f.Source, f.Symbols[0].Name}); diff != "" || f.Path != path || f.Kind != RuntimeSymbols {
			t.Errorf("%s: %+v", path, f)
		}
	}
}

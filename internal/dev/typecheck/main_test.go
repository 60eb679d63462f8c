package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWhatDoesNotCompileForAnArchitectureIsFound(t *testing.T) {
	const good = "package p\n\nimport \"os\"\n\nvar where = os.Args[0]\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"nothing", map[string]string{"p.go": good, "p_test.go": "package p\n\nvar _ = where\n", "q/q.go": "package q\n\nfunc F()\n", "q/q_arm64.s": ""}, nil},
		{"a type", map[string]string{"p.go": good, "p_arm64.go": "package p\n\nvar n int = where\n", "p_test.go": "package p\n"},
			[]string{"p_arm64.go:3:13: cannot use where (variable of type string) as int value in variable declaration"}},
		{"in a test", map[string]string{"p.go": good, "p_arm64_test.go": "package p\n\nvar _ = nowhere\n"}, []string{"p_arm64_test.go:3:9: undefined: nowhere"}},
		{"in an external test", map[string]string{"p.go": good, "p_test.go": "package p_test\n\nimport \"example.com/p\"\n\nvar _ = p.Where\n"},
			[]string{"p_test.go:5:11: undefined: p.Where"}},
		{"a constant that is too large", map[string]string{"p.go": "package p\n\nconst Size = ^uintptr(0) >> 63\n", "p_arm64.go": "package p\n\nvar _ [Size - 2]int\n"},
			[]string{"p_arm64.go:3:8: Size - 2 (constant -1 of type uintptr) overflows uintptr"}},
		{"syntax", map[string]string{"p.go": good, "p_arm64.go": "package p\n\nfunc f( {\n"}, []string{"p_arm64.go:3:9: expected ')', found '{'"}},
		{"of another architecture", map[string]string{"p.go": good, "p_amd64.go": "package p\n\nvar n int = where\n"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			test.files["go.mod"] = "module example.com/p\n\ngo 1.26\n"
			for name, text := range test.files {
				name = filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			mistakes, err := check(dir, "arm64", []string{"./..."})
			if err != nil {
				t.Fatal(err)
			}
			for i := range test.want {
				test.want[i] = filepath.Join(dir, test.want[i])
			}
			if !slices.Equal(mistakes, test.want) {
				t.Errorf("it finds %q, want %q", mistakes, test.want)
			}
		})
	}
}

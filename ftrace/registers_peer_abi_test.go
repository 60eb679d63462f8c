package ftrace

import (
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// A function that returns its Nth argument tells where the compiler finds it.
func TestPeerArgumentsAreWhereCompilersFindThem(t *testing.T) {
	const parameters = "long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8, long a9, long a10, long a11"
	var source strings.Builder
	for n := 1; n <= 11; n++ {
		fmt.Fprintf(&source, "long f%d(%s) { return a%d; }\n", n, parameters, n)
	}
	for _, test := range []struct {
		arch, compiler string
		// move and load find the register, and the offset from the stack pointer.
		move, load *regexp.Regexp
		first      string // the argument that is in the result's register already
	}{
		{"amd64", "x86_64-linux-gnu-gcc", regexp.MustCompile(`movq\t%(\w+), %rax`), regexp.MustCompile(`movq\t(\d+)\(%rsp\), %rax`), ""},
		{"arm64", "aarch64-linux-gnu-gcc", regexp.MustCompile(`mov\tx0, (\w+)`), regexp.MustCompile(`ldr\tx0, \[sp(?:, (\d+))?\]`), "%x0"},
	} {
		t.Run(test.arch, func(t *testing.T) {
			compiler := test.compiler
			if test.arch == runtime.GOARCH {
				compiler = "gcc"
			}
			if _, err := exec.LookPath(compiler); err != nil {
				t.Skip(compiler + " is not installed")
			}
			command := exec.Command(compiler, "-O2", "-fcf-protection=none", "-S", "-x", "c", "-o", "-", "-")
			if test.arch == "arm64" {
				command = exec.Command(compiler, "-O2", "-S", "-x", "c", "-o", "-", "-")
			}
			command.Stdin = strings.NewReader(source.String())
			assembly, err := command.Output()
			if err != nil {
				t.Fatalf("%v: %v", command, err)
			}
			for n := 1; n <= 11; n++ {
				_, body, _ := strings.Cut(string(assembly), fmt.Sprintf("\nf%d:\n", n))
				body, _, _ = strings.Cut(body, "\tret\n")
				want := test.first
				if register := test.move.FindStringSubmatch(body); register != nil {
					part, err := registers(test.arch).find(register[1], false)
					if err != nil {
						t.Fatal(err)
					}
					want = "%" + part.name
				} else if load := test.load.FindStringSubmatch(body); load != nil {
					offset, _ := strconv.Atoi(load[1])
					want = fmt.Sprintf("$stack%d", offset/8)
				}
				got, _, err := UserArgs([]FetchArg{{Name: "a", Fetch: fmt.Sprintf("$arg%d", n)}}, test.arch, false)
				if err != nil || got[0].Fetch != want {
					t.Errorf("argument %d: %v, %v; the compiler finds it in %s:\n%s", n, got, err, want, body)
				}
			}
		})
	}
}

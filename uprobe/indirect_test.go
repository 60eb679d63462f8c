package uprobe

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/symbols"
)

// indirect calls work, whose resolver chooses second, and twin, whose resolver chooses it too. With an
// argument it calls work as often as that says, else it waits for the end of its input.
const indirect = `#include <stdio.h>
#include <stdlib.h>
int yes = 1;
static int first(int n) { __asm__ volatile("" : "+r"(n)); return n; }
static int second(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
static void *choose_work(void) { return yes ? second : first; }
static void *choose_twin(void) { return yes ? second : first; }
int work(int) __attribute__((ifunc("choose_work")));
int twin(int) __attribute__((ifunc("choose_twin")));
int main(int argc, char **argv) {
	int (*volatile other)(int) = twin;
	for (int i = 0; argc > 1 && i < atoi(argv[1]); i++) work(i);
	if (argc == 1) { puts("ready"); fflush(stdout); getchar(); }
	return !other;
}`

// indirectPrograms builds it, by name, linked in each of the ways in which a slot for the result of a resolver is found.
func indirectPrograms(t *testing.T) map[string]string {
	t.Helper()
	programs := make(map[string]string)
	for name, flags := range map[string]string{"pie": "-fPIE -pie", "fixed": "-fno-pie -no-pie", "static": "-static", "stripped": "-rdynamic -s"} {
		r := compiled.Recipe{Sources: map[string]string{"indirect.c": indirect}}
		r.Commands = [][]string{append(append([]string{"gcc", "-O1"}, strings.Fields(flags)...), "-o", "indirect", "indirect.c")}
		programs[name] = filepath.Join(r.Dir(t), "indirect")
	}
	return programs
}

func TestTheCodeOfAnIndirectFunctionIsProbed(t *testing.T) {
	for name, program := range indirectPrograms(t) {
		for _, test := range []struct {
			definition string
			running    bool
			sites      int
			symbol     string
		}{
			{"p:{}:work", false, 2, "work"}, // nothing tells which
			{"p:{}:work", true, 1, "work"},
			{"r:{}:work", true, 1, "work"},
			{"p:{}:w[o]rk", true, 1, "work"},
			{"p:{}:[tw][ow][ir][kn]", true, 1, "twin/work"}, // two names of the same code
		} {
			t.Run(name+" "+test.definition, func(t *testing.T) {
				if test.running {
					waits(t, compiled.Copy(t, program), func(copy string, pid int) {
						sameCode(t, resolve(t, replaceTarget(test.definition, copy), Options{}), test.sites, test.symbol)
						sameCode(t, resolve(t, replaceTarget(test.definition, copy), Options{PID: pid}), test.sites, test.symbol)
					})
					return
				}
				sameCode(t, resolve(t, replaceTarget(test.definition, compiled.Copy(t, program)), Options{}), test.sites, test.symbol)
			})
		}
	}
}

// waits runs a program while fn looks at it.
func waits(t *testing.T, program string, fn func(program string, pid int)) {
	t.Helper()
	cmd := exec.Command(program)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer input.Close()
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	fn(program, cmd.Process.Pid)
}

// sameCode checks the places of a plan, the last of which is that of the function second.
func sameCode(t *testing.T, p *Plan, sites int, symbol string) {
	t.Helper()
	if len(p.Sites) != sites || p.Sites[0].Symbol != symbol {
		t.Fatalf("%d sites, the first in %s; want %d in %s", len(p.Sites), p.Sites[0].Symbol, sites, symbol)
	}
	if !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "IFUNC") }) {
		t.Errorf("the notes are %q", p.Notes)
	}
	last := p.Sites[sites-1]
	if in, ok := p.target.symbols.Lookup(last.Offset); ok && in.Name != "second" {
		t.Errorf("the place is in %s", in.Name)
	}
}

func TestTheResolverIsProbedUnderItsName(t *testing.T) {
	program := indirectPrograms(t)["pie"]
	p := resolve(t, "p:"+program+":choose_work", Options{})
	if len(p.Sites) != 1 || p.Sites[0].Symbol != "choose_work" || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "resolver") {
		t.Errorf("%+v, %q", p.Sites, p.Notes)
	}
	matched, err := p.target.symbols.Match("*o*")
	for _, f := range matched {
		if strings.HasPrefix(f.Name, "choose") {
			t.Errorf("a pattern means the resolver %s", f.Name)
		}
	}
	if !slices.ContainsFunc(matched, func(f symbols.Function) bool { return f.Name == "work" && f.Kind == symbols.Indirect }) {
		t.Errorf("no pattern means work: %v, %v", matched, err)
	}
}

func TestLiveEveryCallOfAnIndirectFunctionIsSeen(t *testing.T) {
	for name, program := range indirectPrograms(t) {
		if name == "fixed" || name == "stripped" {
			continue // what differs is how the code is found
		}
		for _, definition := range []string{"p:{}:w?rk", "r:{}:work"} {
			t.Run(name+" "+definition, func(t *testing.T) {
				program := compiled.Copy(t, program)
				p := resolve(t, replaceTarget(definition, program), Options{})
				if hits := trace(t, p, AttachOptions{}, program, "1000"); len(hits) != 1000 {
					t.Errorf("%d hits of 1000 calls", len(hits))
				}
			})
		}
	}
}

// The C library of this machine chooses by what its processor can do. One of its functions begins with an
// instruction on which kernels allow no probe.
func TestLiveEveryCallOfTheCLibraryIsSeen(t *testing.T) {
	const source = `#include <string.h>
#include <stdlib.h>
char a[64];
int main(int argc, char **argv) {
	for (int i = 0; i < atoi(argv[1]); i++) { memset(a, i, argc + 30); }
	return 0;
}`
	r := compiled.Recipe{Sources: map[string]string{"calls.c": source}}
	r.Commands = [][]string{{"gcc", "-O1", "-fno-builtin", "-static", "-o", "static", "calls.c"}, {"gcc", "-O1", "-fno-builtin", "-o", "shared", "calls.c"}}
	dir := r.Dir(t)
	static := compiled.Copy(t, filepath.Join(dir, "static"))
	for name, run := range map[string][2]string{"static": {static, "p:" + static + ":memset"}, "shared": {filepath.Join(dir, "shared"), "p:libc:memset"}} {
		t.Run(name, func(t *testing.T) {
			var hits []int
			for _, calls := range []string{"0", "1000"} { // the start of a program calls it as well
				hits = append(hits, len(trace(t, resolve(t, run[1], Options{}), AttachOptions{}, run[0], calls)))
			}
			if n := hits[1] - hits[0]; n != 1000 {
				t.Errorf("%d hits of 1000 calls", n)
			}
		})
	}
}

package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// spelledText has functions whose symbols are no names of events, among more than have events of
// their own, and a mark at more places than that.
const spelledText = `#include "marks.h"
#define APART __attribute__((noinline, noclone))
#define BODY { __asm__ volatile("" : "+r"(n)); return n + 1; }
APART int colon(int) __asm__("\"a_type:colon\"");
APART int line(int) __asm__("a_type_colon");
APART int dot(int) __asm__("a_dot.1");
int colon(int n) BODY
int line(int n) BODY
int dot(int n) BODY
#define FUNCTION(NAME) APART int NAME(int n) BODY
FUNCTION(a_1) FUNCTION(a_2) FUNCTION(a_3) FUNCTION(a_4) FUNCTION(a_5) FUNCTION(a_6) FUNCTION(a_7) FUNCTION(a_8)
#define HERE MARK("prov", "mark__it", "0", "-4@%0", "r"(n));
APART void marked(int n) { HERE HERE HERE HERE HERE HERE HERE HERE HERE HERE }
int main(void) {
	int n = colon(0);
	n = line(line(n));
	n = dot(dot(dot(n)));
	marked(n);
	return n == 0;
}
`

func TestLivePlacesThatShareAnEventHaveTheirSymbols(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: uprobes")
	}
	sources := compiled.Sources(t, "../../probe/usdt/testdata/marks.h")
	sources["spelled.c"] = spelledText
	program := compiled.Program(t, sources, "gcc", "-O1", "-o", "spelled", "spelled.c")
	var attached, missed bytes.Buffer
	code, err := Run(t.Context(), Options{Text: "usdt:" + program + ":prov:mark* { }", DryRun: true, Stdout: &attached, Stderr: &missed})
	if err != nil || code != 0 || attached.String() != "Attaching 1 probe...\n" {
		t.Errorf("exit code %d, %v: of one mark at 10 places it prints %q\n%s", code, err, &attached, &missed)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	var out, stderr bytes.Buffer
	code, err = Run(ctx, Options{
		Text: `uprobe:` + program + `:a_* { @[probe, func] = count(); } uretprobe:` + program + `:a_* { @ends[probe] = count(); }
			usdt:` + program + `:prov:* { @marks[probe] = count(); }
			uretprobe:` + program + `:main { exit(); } BEGIN { system("` + program + ` &"); }`,
		Unsafe: true, Quiet: true, Stdout: &out, Stderr: &stderr,
	})
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, &stderr)
	}
	at := func(kind, name string) string { return kind + ":" + program + ":" + name }
	for _, want := range []string{
		"@[" + at("uprobe", "a_type:colon") + ", a_type:colon]: 1\n", "@ends[" + at("uretprobe", "a_type:colon") + "]: 1\n",
		"@[" + at("uprobe", "a_type_colon") + ", a_type_colon]: 2\n", "@ends[" + at("uretprobe", "a_type_colon") + "]: 2\n",
		"@[" + at("uprobe", "a_dot.1") + ", a_dot.1]: 3\n", "@ends[" + at("uretprobe", "a_dot.1") + "]: 3\n",
		"@marks[" + at("usdt", "prov:mark__it") + "]: 10\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not %s", want)
		}
	}
	if t.Failed() {
		t.Log(&out)
	}
}

// deepText calls its function from frames that are larger than what is copied of a stack, but for the
// last call.
const deepText = `__attribute__((noinline, noclone)) void leaf(int n) { __asm__ volatile("" : : "r"(n) : "memory"); }
__attribute__((noinline, noclone)) void deep(void) { char room[20000]; __asm__ volatile("" : : "r"(room) : "memory"); leaf(1); leaf(2); __asm__ volatile("" : : "r"(room) : "memory"); }
int main(void) { deep(); leaf(3); return 0; }
`

func TestLiveStacksThatAreCutShortAreTold(t *testing.T) {
	program := compiled.Program(t, map[string]string{"deep.c": deepText}, "gcc", "-O1", "-o", "deep", "deep.c")
	out := startedBy(t, `uprobe:`+program+`:leaf { @[ustack] = count(); @leaf[ustack(1)] = count(); }`, program)
	if want := "WARNING: 2 of 6 user stacks are cut short"; !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
}

// inlinedText calls leaf in a function that is inlined in another. Its comments mark the lines of the calls.
const inlinedText = `__attribute__((noinline, noclone)) void leaf(int n) { __asm__ volatile("" : : "r"(n) : "memory"); }
static inline __attribute__((always_inline)) void inner(volatile int *n) {
	leaf(*n); // in inner
	++*n;
}
__attribute__((noinline, noclone)) void outer(volatile int *n) {
	inner(n); // in outer
	++*n;
}
int main(void) {
	volatile int n = 1;
	outer(&n); // in main
	return n - 3;
}
`

func TestLiveStacksHaveSourceLinesAndInlinedCalls(t *testing.T) {
	program := compiled.Program(t, map[string]string{"inlined.c": inlinedText}, "gcc", "-O1", "-g", "-o", "inlined", "inlined.c")
	line := func(mark string) int {
		before, _, _ := strings.Cut(inlinedText, "// "+mark)
		return 1 + strings.Count(before, "\n")
	}
	pointer := map[string]string{"amd64": "ip", "arm64": "pc"}[runtime.GOARCH]
	bare := `\n +leaf\+\d+\n +outer\+\d+\n +main\+\d+\n`
	whole := fmt.Sprintf(`\n +leaf\+\d+@\S+inlined.c:1\n +\[inlined\] inner@\S+inlined.c:%d\n +outer\+\d+@\S+inlined.c:%d\n +main\+\d+@\S+inlined.c:%d\n`,
		line("in inner"), line("in outer"), line("in main"))
	for config, want := range map[string]string{
		"": bare, `dialect = "current"`: whole, "show_debug_info = true": whole, `dialect = "current"; show_debug_info = 0`: bare,
	} {
		text := `config = { ` + config + ` } uprobe:` + program + `:leaf { @[ustack] = count(); @leaf[usym(reg("` + pointer + `"))] = count(); }`
		out := startedBy(t, text, program)
		if !regexp.MustCompile(want).MatchString(out) || !strings.Contains(out, "@leaf[leaf]: 1\n") {
			t.Errorf("with %q not %s:\n%s", config, want, out)
		}
	}
}

func TestLiveALibraryOfACommandThatHasNotBegunIsNoSurprise(t *testing.T) {
	if out := startedBy(t, `uprobe:libc:malloc { @ = count(); }`, "/bin/true"); strings.Contains(out, "has not mapped") {
		t.Error(out)
	}
}

// startedBy runs a program on a command that it starts, and returns what it prints.
func startedBy(t *testing.T, text, command string) string {
	t.Helper()
	out, code, err := runStarted(t, text, command)
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	return out
}

// runStarted runs a program on a command that it starts, and returns what it prints and how it ends.
func runStarted(t *testing.T, text, command string) (string, int, error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: uprobes")
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	started, err := perfevent.StartCommand(exec.Command(command))
	if err != nil {
		t.Fatal(err)
	}
	target := perfevent.Started(started)
	var out bytes.Buffer
	code, err := Run(ctx, Options{
		Text: text, Target: &target, View: probe.View{PIDs: []int{started.PID()}}, Quiet: true, Stdout: &out, Stderr: &out,
	})
	return out.String(), code, err
}

func TestLiveAProgramWhoseProbesAreAllLeftOutFails(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: uprobes")
	}
	target := perfevent.Process(os.Getpid())
	for _, target := range []*perfevent.Target{nil, &target} {
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
		code, err := Run(ctx, Options{Text: `uprobe:libc:no_such_function { @ = count(); }`, Target: target, Quiet: true, Stdout: &out, Stderr: &out})
		if cancel(); err != nil || code != 1 || !strings.Contains(out.String(), "ERROR: ") || !strings.Contains(out.String(), "no function no_such_function") {
			t.Errorf("with the target %v: exit code %d, %v\n%s", target, code, err, &out)
		}
	}
}

package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/scripts"
)

// rounds is how often the program with pointers calls each of its functions.
const rounds = 50

// pointers is a program whose functions fill what they are given. What they have filled is gone
// as soon as they have returned.
var pointers = fmt.Sprintf(`#include <stdio.h>
#include <string.h>
struct node { int number; struct node *next; };
__attribute__((noinline)) void fill(char *out, int i) { sprintf(out, "text %%d", i); }
__attribute__((noinline)) void walk(struct node *n, int i) { n->number = i; n->next->number = 1000 + i; __asm__ volatile("" ::: "memory"); }
static char fixed[64];
int main(void) {
	getchar();
	for (int i = 0; i < %d; i++) {
		char text[64];
		struct node b = {0}, a = {0, &b};
		fill(text, i);
		fill(fixed, i);
		walk(&a, i);
		memset(text, 'x', 32);
		memset(fixed, 'y', 32);
		a.number = b.number = -1;
		__asm__ volatile("" :: "r"(text), "r"(fixed), "r"(&a), "r"(&b) : "memory");
	}
}
`, rounds)

func TestLivePointersThatMapsKeepAreReadAtTheReturn(t *testing.T) {
	lines := pointersAtReturns(t, false)
	for i := range rounds {
		// What is on the stack came with the hit. What is not is right, or marked.
		of := lines[3*i : 3*i+3]
		right := fmt.Sprintf("text %d", i)
		if of[0] != right || of[2] != fmt.Sprintf("%d then %d", i, 1000+i) {
			t.Errorf("round %d: %q", i, of)
		}
		if of[1] != right && !strings.HasPrefix(of[1], "~") {
			t.Errorf("round %d: %q is not marked", i, of[1])
		}
	}
}

func TestLivePointersThatMapsKeepAreReadWhileTheThreadStandsStill(t *testing.T) {
	lines, exact := pointersAtReturns(t, true), 0
	for i := range rounds {
		switch found := lines[3*i+1]; {
		case found == fmt.Sprintf("text %d", i):
			exact++
		case !strings.HasPrefix(found, "~"):
			t.Errorf("round %d: %q is not marked", i, found)
		}
	}
	if least := leastExact(rounds); exact < least {
		t.Errorf("%d texts are exact, want at least %d", exact, least)
	}
	t.Logf("%d of %d texts are exact", exact, rounds)
}

// buffers is a program that writes a text and reads it again, in memory that is not on its stack. What it
// wrote and read is gone as soon as the calls have returned.
var buffers = fmt.Sprintf(`#include <stdio.h>
#include <string.h>
#include <unistd.h>
static char out[64], in[64];
int main(void) {
	int ends[2];
	getchar();
	if (pipe(ends)) return 1;
	for (int i = 0; i < %d; i++) {
		int n = sprintf(out, "text %%d", i);
		if (write(ends[1], out, n) != n || (memset(out, 'x', sizeof out), read(ends[0], in, sizeof in)) != n) return 1;
		memset(in, 'y', sizeof in);
	}
}
`, rounds)

func TestLiveBuffersOfSystemCallsAreReadWhileTheThreadStandsStill(t *testing.T) {
	lines := linesBeside(t, buffers, `tracepoint:syscalls:sys_enter_write { printf("%s\n", str(args.buf, args.count + 1)); }
tracepoint:syscalls:sys_enter_read { @in[tid] = args.buf; }
tracepoint:syscalls:sys_exit_read /@in[tid]/ { printf("%r\n", buf(@in[tid], args.ret)); }`, true, 2*rounds)
	exact := 0
	for i := range rounds {
		right := fmt.Sprintf("text %d", i)
		for _, found := range lines[2*i : 2*i+2] {
			switch {
			case found == right:
				exact++
			case !strings.HasPrefix(found, "~"):
				t.Errorf("round %d: %q is not marked", i, found)
			}
		}
	}
	if least := leastExact(2 * rounds); exact < least {
		t.Errorf("%d buffers are exact, want at least %d", exact, least)
	}
	t.Logf("%d of %d buffers are exact", exact, 2*rounds)
}

// leastExact is how many of so many reads must be exact at least.
func leastExact(reads int) int {
	if testlimit.Emulated() { // the reader rests where it would take too much of a slow machine
		return 1
	}
	return reads / 2
}

// pointersAtReturns is what a program prints at the returns of each round's three calls.
func pointersAtReturns(t *testing.T, near bool) []string {
	return linesBeside(t, pointers, `struct node { int number; struct node *next; };
uprobe:PROGRAM:fill { @p[tid] = arg0; } uretprobe:PROGRAM:fill { printf("%s\n", str(@p[tid])); }
uprobe:PROGRAM:walk { @n[tid] = (struct node *)arg0; }
uretprobe:PROGRAM:walk { $n = @n[tid]; printf("%d then %d\n", $n->number, $n->next->number); }
END { clear(@p); clear(@n); }`, near, 3*rounds)
}

// linesBeside is what a text prints beside a program in C, which it calls PROGRAM: at least so many lines.
func linesBeside(t *testing.T, source, text string, near bool, least int) []string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: uprobes")
	}
	program := compiled.Program(t, map[string]string{"pointers.c": source}, "cc", "-O1", "-o", "program", "pointers.c")
	cmd := exec.Command(program)
	start, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	defer func() {
		start.Close()
		_ = cmd.Wait()
	}()
	text = strings.ReplaceAll(text, "PROGRAM", program) + `BEGIN { printf("ready\n"); }`
	target := perfevent.Process(cmd.Process.Pid)
	var stderr bytes.Buffer
	stdout := &awaited{text: "ready\n", then: func() { start.Close() }}
	if _, err := Run(ctx, Options{Text: text, Quiet: true, Bare: true, Near: near, Target: &target, Stdout: stdout, Stderr: &stderr}); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")[1:]
	if len(lines) < least {
		t.Fatalf("%d lines\n%s%s", len(lines), stdout, &stderr)
	}
	return lines
}

// The program reads at the return what the entry's pointers led to: a name that the function
// does not change, and a struct of the kernel, which it may. Only type information says of the name
// that the function does not change it. do_file_open is do_filp_open's name since Linux 7.0.
func TestLivePointersOfKernelFunctions(t *testing.T) {
	needKprobes(t)
	k := startKnown(t, "everything", "")
	out := k.watchedBy(t, scripts.Program{Name: "pointers", Text: `struct filename { const char *name; };
kprobe:do_fil*_open { @f[tid] = (struct filename *)arg1; }
kretprobe:do_fil*_open /@f[tid]/ { printf("name %s\n", str(((struct filename *)@f[tid])->name)); delete(@f[tid]); }
kprobe:do_sys_openat2 { @p[tid] = arg1; }
kretprobe:do_sys_openat2 /@p[tid]/ { printf("path %s\n", str(@p[tid])); delete(@p[tid]); }
`}, nil)
	late := ""
	if !hasTypes() {
		late = "~"
	}
	for i := range known {
		path := fmt.Sprintf("/nonexistent/of-the-tests-of-shipped-programs/%d\n", i)
		for _, line := range []string{"name ~" + path, "path " + late + path} {
			if n := strings.Count(out, line); n != 1 {
				t.Errorf("%d lines %q", n, line)
			}
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

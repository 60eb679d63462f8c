package session

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/compiled"
	"github.com/ringtap/ringtap/internal/testlimit"
)

const workingText = `#include <stdlib.h>
struct pair { int x, y; };
__attribute__((noinline)) int work(int n, const char *name, struct pair *p, double d, signed char c) {
	__asm__ volatile("" : : "r"(n), "r"(name), "r"(p) : "memory");
	return n + p->x + (int)d + c;
}
int main(void) {
	struct pair p = {3, 4};
	int sum = 0;
	for (int i = -2; i < 5; i++)
		sum += work(i, i & 1 ? "odd" : "even", &p, 1.5, i - 100);
	return sum == 0;
}
`

const twoText = `#define APART __attribute__((noinline, noclone))
APART int one(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
APART int two(int n) { __asm__ volatile("" : "+r"(n)); return n + 2; }
int colon(int n) __asm__("\"type:colon\"");
APART int colon(int n) { __asm__ volatile("" : "+r"(n)); return n + 3; }
int main(void) {
	int n = colon(0);
	for (int i = 0; i < 30; i++)
		n = one(n);
	for (int i = 0; i < 20; i++)
		n = two(n);
	return n == 0;
}
`

func TestLiveFunctionsOfProgramsAreSymbols(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: uprobes")
	}
	program := compiled.Program(t, map[string]string{"two.c": twoText}, "gcc", "-O1", "-o", "two", "two.c")
	at := func(kind string) string { return kind + ":" + program + ":one, " + kind + ":" + program + ":two " }
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	var out, stderr bytes.Buffer
	code, err := Run(ctx, Options{
		Text: at("uprobe") + `{ @name[tid] = func; @at[func, func == usym(reg("ip")), func == "one"] = count(); } ` +
			at("uretprobe") + `{ @calls[@name[tid], @name[tid] == func, str(func)] = count(); }
			uprobe:` + program + `:* / strcontains(func, "mai") / { @main[func] = count(); }
			uprobe:` + program + `:"type:colon" { @colon[func] = count(); }
			uretprobe:` + program + `:main { exit(); } BEGIN { system("` + program + ` &"); } END { clear(@name); }`,
		Unsafe: true, Quiet: true, Stdout: &out, Stderr: &stderr,
	})
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, &stderr)
	}
	for _, want := range []string{
		"@at[one, true, true]: 30\n", "@at[two, true, false]: 20\n", "@calls[one, true, one]: 30\n", "@calls[two, true, two]: 20\n", "@main[main]: 1\n", "@colon[type:colon]: 1\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not %s in\n%s", want, &out)
		}
	}
}

func TestLiveArgumentsOfProgramsHaveNames(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: uprobes")
	}
	program := compiled.Program(t, map[string]string{"work.c": workingText}, "gcc", "-g", "-O1", "-o", "work", "work.c")
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	var out, stderr bytes.Buffer
	code, err := Run(ctx, Options{
		Text: "struct pair { int x, y; }; uprobe:" + program + `:work { printf("%d %s %d\n", args.n, str(args.name), args.c); @[((struct pair *)args.p)->y] = count(); }
			uprobe:` + program + `:work /++@n == 7/ { exit(); } BEGIN { system("` + program + ` &"); } END { clear(@n); }`,
		Unsafe: true, Quiet: true, Stdout: &out, Stderr: &stderr,
	})
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, &stderr)
	}
	want := "-2 even -102\n-1 odd -101\n0 even -100\n1 odd -99\n2 even -98\n3 odd -97\n4 even -96\n"
	if !strings.HasPrefix(out.String(), want) || !strings.Contains(out.String(), "@[4]: 7\n") {
		t.Errorf("%s\nwant\n%s", &out, want)
	}
}

func TestLiveParametersOfProgramsAreListed(t *testing.T) {
	program := compiled.Program(t, map[string]string{"work.c": workingText}, "gcc", "-g", "-O1", "-o", "work", "work.c")
	for _, tt := range []struct {
		fields bool
		want   string
	}{
		{false, "uprobe:" + program + ":work\n"},
		{true, "uprobe:" + program + ":work\n    int n\n    const char *name\n    struct pair *p\n    double d\n    signed char c\n"},
	} {
		var out bytes.Buffer
		if err := (Lister{Out: &out, Fields: tt.fields}).List("uprobe:" + program + ":wor*"); err != nil {
			t.Fatal(err)
		}
		if out.String() != tt.want {
			t.Errorf("%s\nwant\n%s", &out, tt.want)
		}
	}
}

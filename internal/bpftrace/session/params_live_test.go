package session

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
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
		Text: "uprobe:" + program + `:work { printf("%d %s %d\n", args.n, str(args.name), args.c); @[args.p->y] = count(); }
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
		{true, "uprobe:" + program + ":work\n    int n\n    const char* name\n    struct pair* p\n    double d\n    signed char c\n"},
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

const shapesText = `struct shape; typedef unsigned long area_t;
struct point { int x, y; };
union extent { long whole; struct { int low, high; }; };
struct shape { char name[8]; struct point at[2]; unsigned kind : 3, large : 1; struct shape *next; union extent of; double weight; area_t *area; char *label; };
__attribute__((noinline)) void draw(struct shape *s) { __asm__ volatile("" : : "r"(s) : "memory"); }
int main(void) {
	area_t area = 77;
	struct shape inner = {"inner", {{1, 2}, {3, 4}}, 5, 1, 0, {0x700000006}, 1.5, &area, "a label"}, outer = {"outer", {{5, 6}, {7, 8}}, 2, 0, &inner, {9}, 2.5, &area, "b"};
	draw(&outer);
	return 0;
}
`

// The program knows what it draws. Its types are not said again in the text.
func TestLiveTypesOfProgramsLeadThroughPointers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: uprobes")
	}
	program := compiled.Program(t, map[string]string{"shapes.c": shapesText}, "gcc", "-g", "-O1", "-o", "shapes", "shapes.c")
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	var out, stderr bytes.Buffer
	code, err := Run(ctx, Options{
		Text: "uprobe:" + program + `:draw {
				printf("%s %d %d %s\n", args.s->name, args.s->at[1].y, args.s->kind, str(args.s->label));
				printf("%s %d %d %d %d %d %d\n", args.s->next->name, args.s->next->at[0].x, args.s->next->kind, args.s->next->large,
					args.s->next->of.low, args.s->next->of.high, *args.s->next->area);
				printf("%s %d %d\n", str(((struct shape *)arg0)->next->label), sizeof(struct shape), sizeof(area_t));
				$p = args.s->at[0]; print($p);
				exit(); }
			BEGIN { system("` + program + ` &"); }`,
		Unsafe: true, Quiet: true, Dialect: "current", Stdout: &out, Stderr: &stderr,
	})
	if want := "outer 8 2 b\ninner 1 5 1 6 7 77\na label 72 8\n{ .x = 5, .y = 6 }\n"; err != nil || code != 0 || strings.TrimSpace(out.String()) != strings.TrimSpace(want) {
		t.Errorf("exit code %d, %v, %s\nwant\n%s\n%s", code, err, &out, want, &stderr)
	}
}

// The program is linked such that its addresses are no offsets of its file.
func TestLiveProbesAtAddressesAreThoseOfTheirSymbols(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: uprobes")
	}
	program := compiled.Program(t, map[string]string{"two.c": twoText}, "gcc", "-O1", "-no-pie", "-Wl,-Ttext-segment=0x7000000", "-o", "two", "two.c")
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, err := file.Symbols()
	at := slices.IndexFunc(all, func(s elf.Symbol) bool { return s.Name == "two" })
	if err != nil || at < 0 {
		t.Fatalf("no symbol two: %v", err)
	}
	point := fmt.Sprintf("uprobe:%s:%#x", program, all[at].Value)
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	var out, stderr bytes.Buffer
	code, err := Run(ctx, Options{
		Text:   point + ` { @[probe] = count(); } uretprobe:` + program + `:main { exit(); } BEGIN { system("` + program + ` &"); }`,
		Unsafe: true, Quiet: true, Stdout: &out, Stderr: &stderr,
	})
	if want := "@[" + point + "]: 20\n"; err != nil || code != 0 || !strings.Contains(out.String(), want) {
		t.Errorf("exit code %d, %v, %s\nwant %s\n%s", code, err, &out, want, &stderr)
	}
	explains(t, "uprobe:"+program+":0x10 { }", "1:1-"+fmt.Sprint(len("uprobe:"+program+":0x10")+1)+": "+program+": no code is at its address 0x10")
}

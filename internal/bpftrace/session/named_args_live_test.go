package session

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

const ordersText = `package main

type order struct {
	name string
	tags []string
	id   int
}

//go:noinline
func greet(name string, n int) int { return len(name) + n }

//go:noinline
func (o *order) ship(tags []string, where string, p *int) int { return len(tags) + len(where) + o.id + *p }

func main() {
	o, seven, s := &order{name: "widget", id: 7, tags: []string{"x", "yy"}}, 700, 0
	for i := 0; i < 3; i++ {
		s += greet("order-"+string(rune('a'+i)), i+40)
	}
	s += greet("", 1) + o.ship([]string{"red", "blue"}, "paris", &seven)
	println(s)
}
`

const dispatchText = `struct conn { int port; };
struct thd { int id; conn &peer; };
enum cmd { QUIT, QUERY };
__attribute__((noinline)) int dispatch_command(thd *t, cmd c) { __asm__ volatile("" : : "r"(t) : "memory"); return t->id + c; }
namespace ns {
__attribute__((noinline)) int serve(const thd &t, int n) { __asm__ volatile("" : : "r"(&t) : "memory"); return t.id + n; }
__attribute__((noinline)) int twice(int n) { __asm__ volatile("" : "+r"(n)); return n; }
__attribute__((noinline)) int twice(char *text) { __asm__ volatile("" : : "r"(text) : "memory"); return *text; }
}
int main() {
	conn c = {443};
	thd t = {3, c};
	char text[] = "text";
	return ns::serve(t, 9) + ns::twice(2) + ns::twice(text) + dispatch_command(&t, QUERY) > 1000;
}
`

// runOf returns what a program in the language prints of a command that it starts.
func runOf(t *testing.T, command, text string) (stdout, stderr string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: uprobes")
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	var out, notes bytes.Buffer
	code, err := Run(ctx, Options{
		Text:   text + ` BEGIN { system("` + command + ` 2>/dev/null &"); }`,
		Unsafe: true, Quiet: true, Dialect: "0.17", Stdout: &out, Stderr: &notes,
	})
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, &out, &notes)
	}
	return strings.TrimSpace(out.String()), notes.String()
}

func TestLiveArgumentsOfGoHaveTheirTexts(t *testing.T) {
	recipe := compiled.Recipe{
		Sources:  map[string]string{"orders.go": ordersText},
		Commands: [][]string{{"go", "build", "-o", "orders", "orders.go"}},
		Env:      []string{"GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0"},
	}
	program := filepath.Join(recipe.Dir(t), "orders")
	out, notes := runOf(t, program, `
		uprobe:`+program+`:main.greet { printf("%s|%d|%s|%d\n", args.name, args.n, str(args.name.str, args.name.len), args.name.len); }
		uprobe:`+program+`:"main.(*order).ship" {
			printf("%s %d %d %d %d\n", args.where, args.tags.len, args.tags.cap, args.o->id, *args.p);
			printf("%s\n", str(args.o->name.str, args.o->name.len)); exit(); }`)
	if want := "order-a|40|order-a|7\norder-b|41|order-b|7\norder-c|42|order-c|7\n|1||0\nparis 2 2 7 700\nwidget"; out != want {
		t.Errorf("printed is\n%s\nwant\n%s\n%s", out, want, notes)
	}
	refuses(t, "uprobe:"+program+":main.greet { print(args.nam); }", "has no argument nam")
}

func TestLiveArgumentsOfFunctionsThatAreNamedAsTheSourceNamesThem(t *testing.T) {
	program := compiled.Program(t, map[string]string{"dispatch.cc": dispatchText}, "g++", "-g", "-O1", "-o", "dispatch", "dispatch.cc")
	out, notes := runOf(t, program, `
		uprobe:`+program+`:dispatch_command { printf("%d %d %d\n", args.c, args.t->id, args.t->peer.port); }
		uprobe:`+program+`:cpp:dispatch_command { printf("cpp %d\n", args.c); }
		uprobe:`+program+`:ns::serve { printf("serve %d %d %d\n", args.n, args.t.id, args.t.peer.port); }
		uprobe:`+program+`:cpp:"ns::twice(int)" { printf("twice %d\n", args.n); }
		uretprobe:`+program+`:main { exit(); }`)
	want := []string{"serve 9 3 443", "twice 2", "1 3 443", "cpp 1"}
	got := strings.Split(out, "\n")
	for _, line := range want {
		if strings.Count(out+"\n", line+"\n") < 1 || len(got) != len(want) {
			t.Errorf("printed is\n%s\nwant\n%s\n%s", out, strings.Join(want, "\n"), notes)
			break
		}
	}
	refuses(t, "uprobe:"+program+":cpp:ns::twice { print(args.n); }", "several functions are called ns::twice")
}

// refuses checks that a program is refused with a message.
func refuses(t *testing.T, text, want string) {
	t.Helper()
	if got := runText(t, t.Context(), Options{Text: text, DryRun: true}); got.code != failed || !strings.Contains(got.stderr, want) {
		t.Errorf("%s: exit code %d\n%s\nwant %s", text, got.code, got.stderr, want)
	}
}

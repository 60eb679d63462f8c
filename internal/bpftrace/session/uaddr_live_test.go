package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// variablesText changes its variables before each call of work.
const variablesText = `struct node { struct node *next; int n; };
static struct node inner = {0, 77}, outer = {&inner, 66};
struct node *list = &outer;
char letter = 'a';
short numbers[3] = {10, 20, 30};
unsigned count;
long zero;
const char *prompt = "first";
char text[16] = "text 0";
__attribute__((noinline, noclone)) int work(int n) { __asm__ volatile("" : "+r"(n) : : "memory"); count++; return n; }
int main(void) {
	for (int i = 0; i < 3; i++) {
		text[5]++;
		zero = -i;
		if (i == 2)
			prompt = "third";
		work(i);
	}
	return 0;
}
`

func TestLiveVariablesOfProgramsAreReadAtTheHit(t *testing.T) {
	const values = `printf("%c %d %d %d %s %s %d %d\n", *uaddr("letter"), *uaddr("count"), ((int16 *)uaddr("numbers"))[2], (int64)*uaddr("zero"),
		str(*uaddr("prompt")), str(uaddr("text")), ((struct node *)*uaddr("list"))->next->n, uaddr("text") == uaddr("letter"));`
	entry := "a 0 30 0 first text 1 77 0\na 1 30 -1 first text 2 77 0\na 2 30 -2 third text 3 77 0\n"
	atReturn := strings.NewReplacer("a 2", "a 3", "a 1", "a 2", "a 0", "a 1").Replace(entry)
	for _, flags := range [][]string{{"-pie", "-fPIE"}, {"-no-pie", "-fno-pie"}, {"-static"}} {
		command := append(append([]string{"gcc", "-O1"}, flags...), "-o", "variables", "variables.c")
		program := compiled.Program(t, map[string]string{"variables.c": variablesText}, command...)
		for kind, want := range map[string]string{"uprobe": entry, "uretprobe": atReturn} {
			text := "struct node { struct node *next; int n; }; " + kind + ":" + program + ":work { " + values + " }"
			if kind == "uretprobe" && !testlimit.Linux(t, 6, 18) { // the kernel misreads them
				if out, code, err := runStarted(t, text, program); code == 0 || !strings.Contains(fmt.Sprint(out, err), "misread by Linux before 6.18") {
					t.Errorf("%s, %s: exit code %d, %v, and it prints\n%s\nwant a refusal", flags, kind, code, err, out)
				}
				continue
			}
			out := startedBy(t, text, program)
			if !strings.Contains(out, want) {
				t.Errorf("%s, %s: it prints\n%s\nwant\n%s", flags, kind, out, want)
			}
		}
	}
}

func TestLiveAddressesOfVariablesAreThoseThatTheProgramHas(t *testing.T) {
	const text = `#include <stdio.h>
int known = 5;
__attribute__((noinline, noclone)) void work(void *at) { __asm__ volatile("" : : "r"(at) : "memory"); }
int main(void) { work(&known); return 0; }
`
	for _, flag := range []string{"-pie", "-no-pie"} {
		program := compiled.Program(t, map[string]string{"known.c": text}, "gcc", "-O1", flag, "-o", "known", "known.c")
		out := startedBy(t, `uprobe:`+program+`:work / uaddr("known") == arg0 && *uaddr("known") == 5 / { @known[tid] = uaddr("known"); @ = count(); }
			uretprobe:`+program+`:work / @known[tid] == uaddr("known") / { @again = count(); delete(@known[tid]); }`, program)
		if !strings.Contains(out, "@: 1\n") || !strings.Contains(out, "@again: 1\n") {
			t.Errorf("%s: it prints\n%s", flag, out)
		}
	}
}

func TestLiveVariablesThatAreNotThereAreRefusedAtTheirPlaces(t *testing.T) {
	program := compiled.Program(t, map[string]string{"variables.c": variablesText}, "gcc", "-O1", "-o", "variables", "variables.c")
	point := "uprobe:" + program + ":work"
	text := point + ` { @ = *uaddr("nosuch"); }`
	at := strings.Index(text, "uaddr") + 1
	explains(t, text, fmt.Sprintf("1:%d-%d: uaddr(): %s: no symbol of that name: nosuch", at, at+len("uaddr"), program))
	explains(t, `interval:s:1 { @ = *uaddr("zero"); }`, "1:21-26: uaddr() ")
}

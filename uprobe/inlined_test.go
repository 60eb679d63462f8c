package uprobe

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// inlinedSource calls twice 1997 times and maybe 2003 times, 1000 of these through a pointer.
const inlinedSource = `volatile int sink;
static inline __attribute__((always_inline)) int twice(int n, int k) { sink += n; __asm__ volatile(""); return sink + k; }
static inline int maybe(int n) { sink += n; __asm__ volatile("" : : : "memory"); return sink; }
__attribute__((noinline)) int a(int n) { return twice(n, 3) * 7; }
__attribute__((noinline)) int b(int n) { return n > 2 ? twice(n, 4) : maybe(n); }
int main(void) {
	int (*volatile pointer)(int) = maybe;
	for (int i = 0; i < 1000; i++) { a(i); b(i); maybe(sink); pointer(1); }
	return 0;
}`

func TestLiveEveryInlinedCallIsSeen(t *testing.T) {
	for _, flags := range []string{"-g", "-g -gdwarf-4 -fno-omit-frame-pointer", "-g -gsplit-dwarf"} {
		command := append(append([]string{"gcc", "-O2"}, strings.Fields(flags)...), "-o", "inlined", "inlined.c")
		built := compiled.Program(t, map[string]string{"inlined.c": inlinedSource}, command...)
		for _, test := range []struct {
			definition   string
			sites, calls int
		}{
			{"p:" + built + ":twice", 2, 1997},
			{"p:" + built + ":maybe", 3, 2003},
			{"p:" + built + ":mayb*", 1, 1000}, // a note says that there are copies
			{"r:" + built + ":maybe", 1, 1000}, // only what has code of its own returns
		} {
			t.Run(flags+" "+test.definition[:2]+test.definition[strings.LastIndex(test.definition, ":"):], func(t *testing.T) {
				p := resolve(t, test.definition, Options{})
				if len(p.Sites) != test.sites || len(p.Notes) == 0 || !strings.Contains(p.Notes[0], "inlined") {
					t.Errorf("%d sites, want %d; notes %q", len(p.Sites), test.sites, p.Notes)
				}
				if hits := trace(t, p, AttachOptions{Merge: true}, built); len(hits) != test.calls {
					t.Errorf("%d hits of %d calls", len(hits), test.calls)
				}
			})
		}
	}
}

func TestLiveAnInlinedCallHasItsArguments(t *testing.T) {
	program := compiled.Copy(t, compiled.Program(t, map[string]string{"inlined.c": inlinedSource}, "gcc", "-O2", "-g", "-o", "inlined", "inlined.c"))
	p := resolve(t, "p:"+program+":twice n k", Options{})
	want := map[string]int{"n=0 k=3": 1, "n=999 k=3": 1, "n=999 k=4": 1, "n=2 k=4": 0}
	got := make(map[string]int)
	for _, hit := range trace(t, p, AttachOptions{}, program) {
		_, values, _ := strings.Cut(hit.text, ") ")
		got[values]++
	}
	for values, n := range want {
		if got[values] != n {
			t.Errorf("%s: %d times, want %d", values, got[values], n)
		}
	}
}

func TestReturnsOfWhatIsInlinedEverywhereAreRefused(t *testing.T) {
	program := compiled.Program(t, map[string]string{"inlined.c": inlinedSource}, "gcc", "-O2", "-g", "-o", "inlined", "inlined.c")
	for definition, want := range map[string]string{
		"r:{}:twice":   "was inlined wherever it is called (2 places), so it has no returns",
		"p:{}:twice+4": "no code of its own",
		"p:{}:thrice":  "has no function thrice",
	} {
		if _, err := tryResolve(replaceTarget(definition, program), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", definition, err, want)
		}
	}
}

func TestAnInlinedGoFunctionIsRefusedWithItsCallersAndTheCure(t *testing.T) {
	const source = `package main

func twice(n int) int { return 2*n + len(words[n%2]) }

//go:noinline
func once(n int) int { return twice(n) }

var words = []string{"a", "bc"}

func main() { println(once(len(words))) }
`
	r := compiled.Recipe{Sources: map[string]string{"inlined.go": source}, Env: []string{"GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0"}}
	r.Commands = [][]string{{"go", "build", "-ldflags=-s -w", "-o", "inlined", "inlined.go"}}
	program := filepath.Join(r.Dir(t), "inlined")
	_, err := tryResolve("p:"+program+":main.twice", Options{})
	const want = "main.twice was inlined wherever it is called (into main.once), and Go's compiler leaves no instruction there that runs once for each call: build it with //go:noinline before the function, or all with -gcflags=-l, or probe a caller"
	if !errors.Is(err, ErrInlined) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

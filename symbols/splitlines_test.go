package symbols

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// Two units with inlined calls, one within another.
var inlinedSources = map[string]string{
	"main.c": `volatile long sink;
static inline __attribute__((always_inline)) void inner(long n) { for (long i = 0; i < n; i++) sink += i; }
static inline __attribute__((always_inline)) void middle(long n) { inner(n + 1); sink++; }
__attribute__((noipa)) void outer(long n) { middle(n); sink--; }
void other(long n);
int main(int argc, char **argv) { outer(argc); other(argc); return 0; }
`,
	"other.c": `extern volatile long sink;
static inline __attribute__((always_inline)) void within(long n) { sink ^= n; }
__attribute__((noipa)) void other(long n) { within(n); sink *= 3; }
`,
}

// inlinedCalls returns the names of the functions at each byte of two functions' code.
func inlinedCalls(t *testing.T, f *File) (calls []string) {
	t.Helper()
	functions, err := f.Functions()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"outer", "other"} {
		i := slices.IndexFunc(functions, func(fn Function) bool { return fn.Name == name })
		if i < 0 {
			t.Fatalf("no %s", name)
		}
		for n := range functions[i].Size {
			lines, err := f.Lines(functions[i].Offset + n)
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for _, l := range lines {
				fmt.Fprintf(&text, " %s:%s:%d:%d", l.Function, filepath.Base(l.File), l.Line, l.StartLine)
			}
			calls = append(calls, name+text.String())
		}
	}
	return slices.Compact(calls)
}

func TestInlinedCallsOfSplitUnitsAreThoseOfWholeOnes(t *testing.T) {
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		t.Run(version, func(t *testing.T) {
			recipe := func(flags ...string) compiled.Recipe {
				command := append([]string{"gcc", "-O2", version, "-o", "program"}, flags...)
				return compiled.Recipe{Sources: inlinedSources, Commands: [][]string{append(command, "main.c", "other.c")}}
			}
			want := inlinedCalls(t, openProgram(t, filepath.Join(recipe().Dir(t), "program"), ""))
			if !strings.Contains(strings.Join(want, "\n"), "outer inner:main.c:2:2 middle:main.c:3:3 outer:main.c:4:4") {
				t.Fatalf("the whole units have no inlined calls:\n%s", strings.Join(want, "\n"))
			}
			split := filepath.Join(recipe("-gsplit-dwarf").Dir(t), "program")
			f := openProgram(t, split, "")
			if got := inlinedCalls(t, f); !slices.Equal(got, want) || f.LinesErr() != nil {
				t.Errorf("%v\n%s\nwant\n%s", f.LinesErr(), strings.Join(got, "\n"), strings.Join(want, "\n"))
			}

			apart := t.TempDir()
			copyTo(t, split, filepath.Join(apart, "program"))
			f = openProgram(t, filepath.Join(apart, "program"), apart)
			inlinedCalls(t, f)
			if err := f.LinesErr(); err == nil || !strings.Contains(err.Error(), "split off to ") {
				t.Errorf("without the .dwo files: %v", err)
			}
		})
	}
}

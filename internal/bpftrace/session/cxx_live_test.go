package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// cxxText has functions that share a name. It stays until its standard input ends, since bpftrace
// names functions of processes that are there.
const cxxText = `#include <unistd.h>
#define APART __attribute__((noinline, noclone))
#define BODY { asm volatile("" : "+r"(n)); return n; }
namespace ns {
APART int twice(int n) BODY
APART long twice(long n, const char *) BODY
template <typename T> APART T thrice(T n) BODY
struct C { APART int get(int n) const BODY };
}
extern "C" APART int plain(int n) BODY
extern "C" APART int last(int n) BODY
int main() {
	int n = ns::twice(0) + ns::twice(1, "") + ns::thrice<int>(2) + ns::thrice<long>(3) + ns::C().get(4) + plain(5);
	last(n);
	char c;
	return read(0, &c, 1);
}
`

// cxxFunctions are the symbols of its functions in the order of their calls, and their names.
var cxxFunctions = []struct{ symbol, name string }{
	{"_ZN2ns5twiceEi", "ns::twice(int)"}, {"_ZN2ns5twiceElPKc", "ns::twice(long, char const*)"},
	{"_ZN2ns6thriceIiEET_S1_", "int ns::thrice<int>(int)"}, {"_ZN2ns6thriceIlEET_S1_", "long ns::thrice<long>(long)"},
	{"_ZNK2ns1C3getEi", "ns::C::get(int) const"}, {"plain", "plain"},
}

// cxxProgram compiles it. The order of its calls is that of the statement.
func cxxProgram(t *testing.T) string {
	t.Helper()
	return compiled.Program(t, map[string]string{"cxx.cc": cxxText}, "g++", "-O1", "-o", "cxx", "cxx.cc")
}

// whileItWaits runs a text on a command that waits for the end of its input, until the text exits, and
// returns what it prints.
func whileItWaits(t *testing.T, command string, o Options) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: uprobes")
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	cmd := exec.Command(command)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	started, err := perfevent.StartCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	target := perfevent.Started(started)
	var out, stderr bytes.Buffer
	o.Target, o.View, o.Quiet, o.Bare = &target, probe.View{PIDs: []int{started.PID()}}, true, true
	o.Stdout, o.Stderr = &out, &stderr
	code, err := Run(ctx, o)
	started.Kill() // if it never ran
	in.Close()
	if _, waited := started.Wait(); waited != nil {
		t.Fatal(waited)
	}
	if err != nil || code != 0 || ctx.Err() != nil {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, &out, &stderr)
	}
	return out.String()
}

// atAll is a program that prints at the entry of each function of cxxText.
func atAll(program, printed string) string {
	var points []string
	for _, f := range cxxFunctions {
		points = append(points, "uprobe:"+program+":"+f.symbol)
	}
	return strings.Join(points, ", ") + " { " + printed + " } uprobe:" + program + ":last { exit(); }"
}

func TestLiveFunctionsOfCxxHaveTheirParameters(t *testing.T) {
	program := cxxProgram(t)
	printed := `printf("%s|%s|%s", func, str(func), ustack(1));`
	for _, test := range []struct {
		name, config string
		environ      []string
		symbols      bool
	}{
		{name: "as they are"},
		{name: "by config", config: "config = { cpp_demangle = false } ", symbols: true},
		{name: "by environment", environ: []string{"BPFTRACE_CPP_DEMANGLE=0"}, symbols: true},
		{name: "by environment of 0.17", environ: []string{"BPFTRACE_NO_CPP_DEMANGLE=1"}, symbols: true},
		{name: "by environment after config", config: "config = { cpp_demangle = false } ", environ: []string{"BPFTRACE_NO_CPP_DEMANGLE=0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := whileItWaits(t, program, Options{Text: test.config + atAll(program, printed), Environ: test.environ})
			var want strings.Builder
			for _, f := range cxxFunctions {
				name := f.name
				if test.symbols {
					name = f.symbol
				}
				want.WriteString(name + "|" + name + "|\n        " + name + "+0\n")
			}
			if got != want.String() {
				t.Errorf("it prints\n%s\nwant\n%s", got, &want)
			}
		})
	}
}

// needBpftrace skips a test without bpftrace 0.17.
func needBpftrace(t *testing.T) {
	t.Helper()
	version, err := exec.Command("bpftrace", "--version").Output()
	switch {
	case err != nil || !strings.Contains(string(version), "v0.17"):
		t.Skip("bpftrace 0.17 is not installed")
	case os.Geteuid() != 0:
		t.Skip("bpftrace needs root")
	}
}

// byBpftrace is whileItWaits by bpftrace 0.17.
func byBpftrace(t *testing.T, command string, o Options) string {
	t.Helper()
	needBpftrace(t)
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bpftrace", "-q", "-c", command, "-e", o.Text)
	cmd.Env = append(os.Environ(), o.Environ...)
	in, err := cmd.StdinPipe() // the command's, which stays open
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// bpftrace needs frame pointers: the comparison leaves out the frames that it misses.
func TestPeerNamesOfCxxAreThoseOfBpftrace(t *testing.T) {
	program := cxxProgram(t)
	for _, environ := range [][]string{nil, {"BPFTRACE_NO_CPP_DEMANGLE=0"}, {"BPFTRACE_NO_CPP_DEMANGLE=1"}} {
		o := Options{Text: atAll(program, `printf("%s|%s|%s|%s", probe, func, usym(reg("ip")), ustack(1));`), Environ: environ, Dialect: "0.17"}
		got, want := whileItWaits(t, program, o), strings.Trim(byBpftrace(t, program, o), "\n")+"\n"
		if got != want {
			t.Errorf("with %q it prints\n%s\nbpftrace:\n%s", environ, got, want)
		}
	}
}

// cxxNames are names as the source has them, and the symbols that they mean.
var cxxNames = []struct {
	name, symbols string
	apart         bool // bpftrace 0.17 takes it otherwise
}{
	{"ns::twice", "_ZN2ns5twiceEi _ZN2ns5twiceElPKc", false},
	{"ns::twice(int)", "_ZN2ns5twiceEi", false},
	{"ns::twice(long, char const*)", "_ZN2ns5twiceElPKc", false},
	{"ns::twice(long, const char *)", "_ZN2ns5twiceElPKc", true},
	{"int ns::thrice<int>", "_ZN2ns6thriceIiEET_S1_", false},
	{"int ns::thrice<int>(int)", "_ZN2ns6thriceIiEET_S1_", false},
	{"int ns::*", "_ZN2ns6thriceIiEET_S1_", false},
	{"ns::thrice<int>", "_ZN2ns6thriceIiEET_S1_", true}, // its name begins with the type of the result
	{"ns::thrice", "_ZN2ns6thriceIiEET_S1_ _ZN2ns6thriceIlEET_S1_", true},
	{"*thrice<*", "_ZN2ns6thriceIiEET_S1_ _ZN2ns6thriceIlEET_S1_", false},
	{"*twice(long, *)", "_ZN2ns5twiceElPKc", false},
	{"*(int)", "_ZN2ns5twiceEi _ZN2ns6thriceIiEET_S1_", true}, // it takes (int) const for one
	{"ns::C::get", "_ZNK2ns1C3getEi", false},
	{"ns::C::get(int) const", "_ZNK2ns1C3getEi", false},
	{"ns::C::*", "_ZNK2ns1C3getEi", false},
	{"plain", "plain", false},
	{"pla*", "plain", false},
}

// probesOf are the attach points at symbols of a file, in the order of their calls.
func probesOf(prefix, symbols string) string {
	var lines strings.Builder
	for symbol := range strings.FieldsSeq(symbols) {
		lines.WriteString(prefix + symbol + "\n")
	}
	return lines.String()
}

// numbered has a clause for each name that prints the name's number and the probe.
func numbered(prefix, program string) string {
	var text strings.Builder
	for i, test := range cxxNames {
		fmt.Fprintf(&text, "%s\"%s\" { printf(\"%d|%%s\\n\", probe); }\n", prefix, test.name, i)
	}
	return text.String() + "uprobe:" + program + ":last { exit(); }"
}

// ofNumber are the lines of a number.
func ofNumber(i int, lines string) string {
	var found strings.Builder
	for line := range strings.Lines(lines) {
		if rest, ok := strings.CutPrefix(line, fmt.Sprint(i, "|")); ok {
			found.WriteString(rest)
		}
	}
	return found.String()
}

func TestLiveNamesOfTheSourceMeanTheirSymbols(t *testing.T) {
	program := cxxProgram(t)
	for _, point := range []struct{ file, rest string }{{program, ":"}, {program, ":cpp:"}, {program[:len(program)-1] + "?", ":cpp:"}} {
		prefix, shown := "uprobe:"+point.file+point.rest, "uprobe:"+program+point.rest
		out := whileItWaits(t, program, Options{Text: numbered(prefix, program)})
		for i, test := range cxxNames {
			want := probesOf(shown, test.symbols)
			if got := ofNumber(i, out); got != want {
				t.Errorf("%s%s: the hits are\n%s\nwant\n%s", prefix, test.name, got, want)
			}
			var list strings.Builder
			if err := (Lister{Out: &list}).List(prefix + `"` + test.name + `"`); err != nil {
				t.Error(err)
			}
			for line := range strings.Lines(list.String()) {
				_, symbol, cpp := strings.Cut(line, ":cpp:")
				if symbol = strings.Trim(symbol, "\"\n"); cpp && !named(symbol, test.symbols) || !cpp && !strings.Contains(want, line) {
					t.Errorf("%s%s: listed is %s", prefix, test.name, line)
				}
			}
			if n := strings.Count(list.String(), "\n"); n != strings.Count(want, "\n") {
				t.Errorf("%s%s: listed are\n%s\nwant\n%s", prefix, test.name, &list, want)
			}
		}
	}
}

// named reports whether a function's name is that of one of some symbols.
func named(name, symbols string) bool {
	for _, f := range cxxFunctions {
		if f.name == name && strings.Contains(symbols, f.symbol) {
			return true
		}
	}
	return false
}

func TestPeerNamesOfTheSourceMeanWhatTheyMeanToBpftrace(t *testing.T) {
	needBpftrace(t)
	program := cxxProgram(t)
	prefix := "uprobe:" + program + ":"
	for _, test := range cxxNames {
		if test.apart {
			continue
		}
		want := probesOf(prefix, test.symbols)
		list, err := exec.Command("bpftrace", "-l", prefix+`"`+test.name+`"`).Output()
		if err != nil || string(list) != want {
			t.Errorf("%s: bpftrace lists, with %v,\n%s\nwant\n%s", test.name, err, list, want)
		}
	}
	var points []string // 0.17 takes a function only once
	for _, name := range []string{"ns::twice", "int ns::*", "ns::C::get(int) const", "plain"} {
		points = append(points, prefix+`"`+name+`"`)
	}
	o := Options{Text: strings.Join(points, ", ") + ` { printf("%s\n", probe); } ` + prefix + "last { exit(); }"}
	want := probesOf(prefix, "_ZN2ns5twiceEi _ZN2ns5twiceElPKc _ZN2ns6thriceIiEET_S1_ _ZNK2ns1C3getEi plain")
	if got := strings.Trim(byBpftrace(t, program, o), "\n") + "\n"; got != want {
		t.Errorf("bpftrace's hits are\n%s\nwant\n%s", got, want)
	}
	if got := whileItWaits(t, program, o); got != want {
		t.Errorf("the hits are\n%s\nwant\n%s", got, want)
	}
}

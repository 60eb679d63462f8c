package session

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/compiled"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/testlimit"
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

// byBpftrace is whileItWaits by bpftrace 0.17.
func byBpftrace(t *testing.T, command string, o Options) string {
	t.Helper()
	if version, err := exec.Command("bpftrace", "--version").Output(); err != nil || !strings.Contains(string(version), "v0.17") {
		t.Skip("bpftrace 0.17 is not installed")
	}
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

// Frames that bpftrace misses for want of frame pointers do not matter.
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

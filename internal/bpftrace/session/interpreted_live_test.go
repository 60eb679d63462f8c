package session

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// The program calls getppid once, twice and three times in functions of these names, below eleven calls of
// down.
func TestLiveUserStacksHaveTheFunctionsOfPython(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	all := livetest.OfEachLayout(t)
	at := slices.IndexFunc(all, func(i livetest.Interpreter) bool { return i.Language == "python" })
	if at < 0 {
		t.Skip("python3 is not installed")
	}
	testlimit.Enough(t, 100, func(rounds int) bool {
		return checkStacks(t, rounds, stacksOfCalls(t, all[at], rounds)) >= 6*rounds*8/10
	})
}

// stacksOfCalls is what a program prints that counts the calls by their user stacks.
func stacksOfCalls(t *testing.T, python livetest.Interpreter, rounds int) string {
	t.Helper()
	const rest = "3" // milliseconds between hits: fewer than are thinned
	cmd := python.Program("../../collect/calls/testdata/ppid", strconv.Itoa(rounds), rest)
	program := livetest.Start(t, cmd)
	defer program.Close()
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	stdout := &awaited{text: "ready\n", then: func() {
		if err := program.Begin(); err != nil {
			t.Error(err)
		}
		go func() {
			_, _ = program.Said.ReadString('\n') // it has called
			cancel()
		}()
	}}
	var stderr bytes.Buffer
	target := perfevent.Process(program.PID)
	text := `BEGIN { printf("ready\n"); } tracepoint:syscalls:sys_enter_getppid { @[ustack] = count(); }`
	if _, err := Run(ctx, Options{Text: text, Quiet: true, Bare: true, Near: true, Target: &target, Stdout: stdout, Stderr: &stderr}); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	t.Log(stderr.String())
	return stdout.String()
}

// checkStacks compares counted stacks with what the program does. It returns how many calls have functions
// that are surely those of the moment.
func checkStacks(t *testing.T, rounds int, out string) (named int) {
	t.Helper()
	got, all := make(map[string]int), 0
	for _, entry := range regexp.MustCompile(`(?ms)^@\[\n(.*?)^\]: (\d+)$`).FindAllStringSubmatch(out, -1) {
		n, _ := strconv.Atoi(entry[2])
		all += n
		var names []string
		for _, f := range regexp.MustCompile(`(?m)^    (\S+) \(\S*ppid\.py:\d+\)$`).FindAllStringSubmatch(entry[1], -1) {
			names = append(names, f[1])
		}
		if len(names) == 0 || strings.Contains(entry[1], atsample.Late) {
			continue
		}
		named += n
		got[names[0]] += n
		if want := append(slices.Repeat([]string{"down"}, 11), "<module>"); !slices.Equal(names[1:], want) {
			t.Errorf("%d calls have the functions %q, which there are not", n, names)
		}
	}
	t.Logf("%d of %d calls have their functions: %v", named, all, got)
	if all != 6*rounds {
		t.Errorf("%d calls were counted, want %d", all, 6*rounds)
	}
	for name, n := range got {
		if most := map[string]int{"one": 1, "two": 2, "three": 3}[name] * rounds; n > most {
			t.Errorf("%s calls %d times, want %d", name, n, most)
		}
	}
	return named
}

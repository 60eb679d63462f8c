package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/compiled"
	"github.com/ringtap/ringtap/internal/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// hotCalls is how often a program with a hot function calls it. The rings hold that many small copies of
// its stack.
const hotCalls = 40_000

// hot is a program that calls the function hit from two callers. Each caller keeps more on its stack than ringtap
// copies in a storm, so that only whole stacks seen before complete those that are cut short.
var hot = fmt.Sprintf(`
__attribute__((noinline)) void hit(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void left(void) { volatile char room[800]; room[0] = 1; hit(); room[1] = 1; }
__attribute__((noinline)) void right(void) { volatile char room[800]; room[0] = 1; hit(); room[1] = 1; }
int main(void) {
	for (int i = 0; i < %d; i++) {
		if (i %% 4) left(); else right();
	}
}
`, hotCalls)

func TestLiveEveryHitOfAHotFunctionHasItsWholeStack(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: user probes")
	}
	program := compiled.Program(t, map[string]string{"hot.c": hot}, "gcc", "-O1", "-g", "-o", "hot", "hot.c")
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	command, err := perfevent.StartCommand(exec.Command(program))
	if err != nil {
		t.Fatal(err)
	}
	defer command.Kill() // if it never ran
	target := perfevent.Started(command)
	var stdout, stderr bytes.Buffer
	if _, err := Run(ctx, Options{
		Text:   fmt.Sprintf(`uprobe:%s:hit { @[ustack] = count(); }`, program),
		Target: &target, Quiet: true, Verbose: true, Stdout: &stdout, Stderr: &stderr,
	}); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if _, err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stderr.String(), fmt.Sprintf("%d hits received, 0 counted in the kernel, 0 lost,", hotCalls)) {
		t.Errorf("not all of %d hits are received:\n%s", hotCalls, &stderr)
	}
	counts := map[string]int{}
	for _, m := range regexp.MustCompile(`(?s)@\[\n(.*?)\n\]: (\d+)`).FindAllStringSubmatch(stdout.String(), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`\+\d+`).ReplaceAllString(m[1], "")
		counts[strings.Join(strings.Fields(names), ";")] += n
	}
	for caller, want := range map[string]int{"left": hotCalls * 3 / 4, "right": hotCalls / 4} {
		got := 0
		for names, n := range counts {
			if strings.HasPrefix(names, "hit;"+caller+";main;") && strings.HasSuffix(names, ";_start") {
				got += n
			}
		}
		if got != want {
			t.Errorf("%d whole stacks of %s, want %d:\n%s", got, caller, want, &stdout)
		}
	}
}

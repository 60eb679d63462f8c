package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// filtered runs a program that is prepared beside a command, and returns what it prints.
func filtered(t *testing.T, text string, change func(*session), command ...string) (out, books string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints and uprobes")
	}
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	failed := make(chan error, 1)
	stdout := &awaited{text: "ready\n", then: func() {
		go func() {
			failed <- exec.Command(command[0], command[1:]...).Run()
			cancel()
		}()
	}}
	var stderr bytes.Buffer
	s := prepared(t, `BEGIN { printf("ready\n"); } `+text, Options{Quiet: true, NoWarnings: true, Verbose: true, Stdout: stdout, Stderr: &stderr})
	if s == nil {
		t.Fatalf("%s is wrong", text)
	}
	change(s)
	if _, err := s.start(ctx); err != nil {
		t.Fatalf("%s: %v\n%s", text, err, &stderr)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String()
}

// The program calls work seven times: with -2 to 4, "even" and "odd" and a char of 100 less.
func TestLiveTheKernelFiltersByArguments(t *testing.T) {
	const calls = 7
	program := compiled.Program(t, map[string]string{"work.c": workingText}, "gcc", "-g", "-O1", "-o", "work", "work.c")
	for _, tt := range []struct {
		predicate, filter string
		hits              int
	}{
		{`args.n < 0`, `v0 < 0`, 2},
		{`(uint32)args.n > 5`, `(v0 & 0xffffffff) > 5`, 2},
		{`arg0 & 1`, `(v0 & 0x1) != 0`, 3},
		{`args.c == -99`, `v0 == -99`, 1},
		{`(uint8)args.c == 156 || args.n == 4`, `(v0 & 0xff) == 156 || v1 == 4`, 2},
		{`str(args.name) == "odd" && args.n != 1`, `v0 == "odd" && v1 != 1`, 2},
		{`comm == "work" && *(int32 *)args.p == 3`, `COMM == "work" && v0 == 3`, calls},
		{`comm != "work"`, `COMM != "work"`, 0},
	} {
		clause := fmt.Sprintf("uprobe:%s:work / %s / { @hits[1] = count(); }", program, tt.predicate)
		out, books := filtered(t, clause, func(*session) {}, program)
		for _, want := range []string{
			"filtered by the kernel: " + tt.filter + "\n",
			fmt.Sprintf(", 0 lost, %d left out as ringtap's own, %d filtered by the kernel", 0, calls-tt.hits),
			fmt.Sprintf("\n%d hits received", tt.hits),
		} {
			if !strings.Contains(books, want) {
				t.Errorf("%s: no %q in\n%s", tt.predicate, want, books)
			}
		}
		if tt.hits > 0 && !strings.Contains(out, fmt.Sprintf("@hits[1]: %d\n", tt.hits)) {
			t.Errorf("%s: %s", tt.predicate, out)
		}
	}
}

func TestLiveAFilterThatTheKernelRefusesIsTheProgramsAlone(t *testing.T) {
	out, books := filtered(t, `t:task:task_rename / args.newcomm == "known-of-tests" / { @hits[1] = count(); }`, func(s *session) {
		if s.events[0].Filter == nil {
			t.Fatal("there is no filter")
		}
		s.events[0].Filter = &plan.Condition{Test: plan.Test{Header: "comm", IsText: true, Op: "==", Text: `no " name`}}
	}, "bash", "-c", "printf known-of-tests > /proc/self/comm")
	if !strings.Contains(out, "@hits[1]: 1\n") || !strings.Contains(books, "not filtered by the kernel: task:task_rename: filter ") {
		t.Errorf("%s\n%s", out, books)
	}
}

package session

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// longTexts are lengths of texts. The kernel fetches none of 4096 bytes or more, and none that does not fit a page
// with the rest of the record.
var longTexts = []int{10, 3000, 4094, 4095, 4096, 5000, 20_000}

// longProgram hands such texts to a function, and stays.
var longProgram = `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct request { long number; const char *name; };
__attribute__((noinline, noclone)) void hit(const char *text, struct request *r) { __asm__ volatile("" : : "r"(text), "r"(r) : "memory"); }
int main(void) {
	int lengths[] = {` + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(longTexts), "[]")), ", ") + `};
	getchar();
	for (int i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		char *text = malloc(lengths[i] + 1);
		memset(text, 'a' + i, lengths[i]);
		text[lengths[i]] = 0;
		struct request *r = malloc(sizeof *r);
		r->name = text;
		hit(text, r);
	}
	getchar();
}
`

func TestLiveTextsThatAreTooLongForTheKernelAreWhole(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: uprobes")
	}
	program := compiled.Program(t, map[string]string{"long.c": longProgram}, "cc", "-O1", "-o", "long", "long.c")
	for name, test := range map[string]struct {
		near bool
		most int // max_strlen
	}{
		"read while the thread stands still": {true, 30_000},
		"read late":                          {false, 30_000},
		"cut":                                {true, 1024},
	} {
		t.Run(name, func(t *testing.T) {
			lines, exact := linesOfLong(t, program, test.most, test.near), 0
			for i, n := range longTexts {
				want := strings.Repeat(string(rune('a'+i)), min(n, test.most))
				if n > test.most {
					want += ".."
				}
				first, second, _ := strings.Cut(lines[i], "|")
				for _, got := range []string{first, second} {
					text, late := strings.CutPrefix(got, "~")
					if text != want {
						t.Errorf("of a text of %d bytes it prints %d: %.10q … %q", n, len(got), got, got[max(0, len(got)-5):])
					}
					switch {
					case !late:
						exact++
					case n < 2000: // two fit a page
						t.Errorf("a text of %d bytes, which the kernel fetches, is marked as late", n)
					}
				}
			}
			if least := leastExact(2 * len(longTexts)); test.near && test.most > 1024 && exact < least {
				t.Errorf("%d texts are exact, want at least %d", exact, least)
			}
		})
	}
}

// linesOfLong is what a program prints of the calls of longProgram, which ends when all are printed.
func linesOfLong(t *testing.T, program string, most int, near bool) []string {
	t.Helper()
	cmd := exec.Command(program)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = cmd.Wait()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	text := fmt.Sprintf(`config = { max_strlen = %d } struct request { long number; const char *name; };
begin { printf("ready\n"); }
uprobe:%s:hit { printf("%%s|%%s\n", str(arg0), str(((struct request *)arg1)->name)); @n++; if (@n == %d) { clear(@n); exit(); } }`,
		most, program, len(longTexts))
	target := perfevent.Process(cmd.Process.Pid)
	var stderr bytes.Buffer
	stdout := &awaited{text: "ready\n", then: func() { _, _ = io.WriteString(in, "\n") }}
	if _, err := Run(ctx, Options{Text: text, Quiet: true, Bare: true, Near: near, Target: &target, Stdout: stdout, Stderr: &stderr}); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")[1:]
	if len(lines) != len(longTexts) {
		t.Fatalf("%d lines of %d calls\n%s", len(lines), len(longTexts), &stderr)
	}
	return lines
}

package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// textsText passes a text and its length to a function. The text is a copy: bpftrace can read only
// memory that the process has touched.
const textsText = `#include <string.h>
#include <unistd.h>
__attribute__((noinline)) int take(const char *text, int length) { asm volatile("" : "+r"(text), "+r"(length)); return length; }
int main(void) {
	char text[16], c;
	strcpy(text, "abcdefgh");
	take(text, 5);
	return read(0, &c, 1);
}
`

// textsPrinted has lengths that are constants and lengths that only the hit knows.
const textsPrinted = `printf("%s|%s|%s|%s|%s\n", str(arg0, 5), str(arg0, arg1), str(arg0, 0), str(arg0, 1), str(arg0, 20)); exit();`

func textsProgram(t *testing.T) string {
	t.Helper()
	return compiled.Program(t, map[string]string{"texts.c": textsText}, "gcc", "-O1", "-o", "texts", "texts.c")
}

func TestLiveTextsHaveTheLengthThatTheDialectCounts(t *testing.T) {
	program := textsProgram(t)
	for dialect, want := range map[string]string{
		"":        "abcde|abcde||a|abcdefgh",
		"0.17":    "abcde|abcde||a|abcdefgh",
		"current": "abcd|abcd|||abcdefgh",
	} {
		got := whileItWaits(t, program, Options{Text: "uprobe:" + program + ":take { " + textsPrinted + " }", Dialect: dialect})
		if strings.TrimSpace(got) != want {
			t.Errorf("dialect %q prints %q, want %q", dialect, got, want)
		}
	}
}

func TestPeerTextsHaveTheLengthThatBpftraceGivesThem(t *testing.T) {
	program := textsProgram(t)
	o := Options{Text: "uprobe:" + program + ":take { " + textsPrinted + " }"}
	got, want := whileItWaits(t, program, o), byBpftrace(t, program, o)
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("it prints %q, bpftrace %q", got, want)
	}
}

// longPathText opens names of several lengths, with the number of the length as flags. No path is that long: the
// kernel takes 4095 bytes.
var longPathText = fmt.Sprintf(`#include <fcntl.h>
#include <stdio.h>
#include <string.h>
static char path[20000];
int main(void) {
	int lengths[] = {4095, 4096, 5555, 9998, 12000};
	getchar();
	for (int i = 0; i < 5 * %d; i++) {
		memset(path, 'x', sizeof path);
		path[lengths[i %% 5]] = 0;
		open(path, i %% 5);
	}
}
`, rounds)

// A text of a system call may be longer than a path. It is cut where max_strlen, which includes its end, says so.
func TestLiveTextsOfSystemCallsAreAsLongAsTheProgramAllows(t *testing.T) {
	lines := linesBeside(t, longPathText, `config = { max_strlen = 9999 }
tracepoint:syscalls:sys_enter_open, tracepoint:syscalls:sys_enter_openat { printf("%d %s\n", args.flags, str(args.filename)); }`, true, 5*rounds)
	x := strings.Repeat("x", 9999)
	for i, want := range []string{x[:4095], x[:4096], x[:5555], x[:9998], x + ".."} {
		line := fmt.Sprint(i, " ", want)
		if !slices.Contains(lines, line) {
			t.Errorf("none of %d texts of number %d is whole", rounds, i)
		}
	}
}

// hostileText has a name and passes a text that forge a line.
const hostileText = `#include <sys/prctl.h>
#include <unistd.h>
__attribute__((noinline)) int take(const char *text) { asm volatile("" : "+r"(text)); return 0; }
int main(void) {
	char text[] = "a\nroot\x1b[2J", c;
	prctl(PR_SET_NAME, "b\ninit\x1b[J", 0, 0, 0);
	take(text);
	return read(0, &c, 1);
}
`

func TestLiveNoProcessForgesALineOfTheOutput(t *testing.T) {
	program := compiled.Program(t, map[string]string{"hostile.c": hostileText}, "gcc", "-O1", "-o", "hostile", "hostile.c")
	text := "uprobe:" + program + `:take { $tab = "\t"; printf("%s%s%s\n", comm, $tab, str(arg0)); @[comm] = count(); exit(); }`
	for _, test := range []struct {
		raw  bool
		want string
	}{
		{false, "b\\ninit\\x1b[J\ta\\nroot\\x1b[2J\n@[b\\ninit\\x1b[J]: 1"},
		{true, "b\ninit\x1b[J\ta\nroot\x1b[2J\n@[b\ninit\x1b[J]: 1"},
	} {
		if got := whileItWaits(t, program, Options{Text: text, Raw: test.raw}); strings.TrimSpace(got) != test.want {
			t.Errorf("raw %v: it prints %q, want %q", test.raw, got, test.want)
		}
	}
}

package session

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// namedText calls a function of the C library and two of its own, and stays until its input ends.
const namedText = `#include <unistd.h>
#define APART __attribute__((noinline, noclone))
APART int work(int n) { __asm__ volatile("" : "+r"(n)); return n; }
APART int last(int n) { __asm__ volatile("" : "+r"(n)); return n; }
int main(void) {
	char c;
	work(getppid());
	last(0);
	return read(0, &c, 1);
}
`

func TestPeerProbesOfLibrariesAndProgramsShowTheirFiles(t *testing.T) {
	program := compiled.Program(t, map[string]string{"ringtapnamed.c": namedText}, "gcc", "-O1", "-o", "ringtapnamed", "ringtapnamed.c")
	t.Setenv("PATH", filepath.Dir(program)+":"+os.Getenv("PATH"))
	o := Options{Text: `uprobe:libc:getppid, uretprobe:libc:getppid, uprobe:libc:getppi*, uprobe:ringtapnamed:work, uprobe:` + program + `:work / comm == "ringtapnamed" / {
		printf("%s\n", probe);
	} uprobe:` + program + `:last { exit(); }`}
	for _, dialect := range []string{"0.17", ""} {
		o.Dialect = dialect
		got, want := whileItWaits(t, program, o), strings.Trim(byBpftrace(t, program, o), "\n")+"\n"
		inOrder := func(text string) []string { return slices.Sorted(strings.Lines(text)) }
		if !slices.Equal(inOrder(got), inOrder(want)) || !strings.Contains(got, "uprobe:/") {
			t.Errorf("dialect %q: it prints\n%s\nbpftrace:\n%s", dialect, got, want)
		}
	}
}

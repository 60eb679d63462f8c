package snapshot

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

// Code that Ruby has compiled has no unwind information: what has called it is known all the same.
func TestLiveFunctionsThatRubyCompilesHaveTheirCallers(t *testing.T) {
	found := false
	for _, of := range interptest.Installed("ruby") {
		if interptest.HasYJIT(of) {
			found = true
			functionsHaveCallers(t, of)
		}
	}
	if !found {
		t.Skip("no Ruby with YJIT is installed")
	}
}

func functionsHaveCallers(t *testing.T, path string) {
	t.Helper()
	want := []string{"wait:3", "inner:8", "block in each_of:12", "each_of:12", "outer:16", "<main>:26"}
	for _, flags := range [][]string{nil, {"--yjit"}} {
		thread := ofReader(t, exec.Command(path, append(flags, "--disable=gems", "testdata/compiled.rb")...)).Threads[0]
		var got []string
		for _, f := range thread.User {
			if f.Runtime != "" && !strings.HasPrefix(f.File, "<internal:") {
				name := f.Name[strings.LastIndex(f.Name, "#")+1:]
				if strings.HasPrefix(f.Name, "block in ") {
					name = "block in " + strings.TrimPrefix(name, "block in ")
				}
				got = append(got, fmt.Sprintf("%s:%d", name, f.Line))
			}
			if f.Runtime == "" && f.Object == "[anon]" {
				t.Errorf("%v: %s of the stack is code that nobody knows", flags, f.Name)
			}
		}
		if !slices.Equal(got, want) || thread.Uninterpreted != "" {
			t.Errorf("%v:\ngot  %q\nwant %q\n%s", flags, got, want, thread.Uninterpreted)
		}
		if last := thread.User[len(thread.User)-1]; thread.Truncated || last.Name != "_start" {
			t.Errorf("%v: the outermost frame is %s", flags, last.Name)
		}
	}
}

package snapshot

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// The thread tells by Thread.getStackTrace where it waits.
func TestLiveMethodsOfAJavaThreadThatWaitsAreThoseItTells(t *testing.T) {
	javas := make(map[string]string)
	if testlimit.IsThorough() {
		javas = interptest.Javas()
	}
	if path, err := exec.LookPath("java"); err == nil {
		javas["java"] = path
	}
	if len(javas) == 0 {
		t.Skip("java is not installed")
	}
	if _, err := exec.LookPath("javac"); err != nil {
		t.Skip("javac is not installed")
	}
	recipe := compiled.Recipe{
		Sources:  compiled.Sources(t, filepath.Join("testdata", "Waits.java")),
		Commands: [][]string{{"javac", "-Xlint:-options", "--release", "8", "Waits.java"}},
	}
	for _, name := range slices.Sorted(maps.Keys(javas)) {
		for _, flag := range []string{"-Xint", "-Xcomp"} {
			t.Run(name+" "+flag, func(t *testing.T) { checkWaits(t, exec.Command(javas[name], flag, "-cp", recipe.Dir(t), "Waits")) })
		}
	}
}

// checkWaits compares the methods of the thread that waits in Waits with what it tells.
func checkWaits(t *testing.T, cmd *exec.Cmd) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, cmd)
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	var want []string
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "" {
		want = append(want, lines.Text())
	}
	taker := New(Options{Lines: true})
	defer taker.Close()
	s, err := taker.Take(context.Background(), cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	method := regexp.MustCompile(`(Waits\.\w+)\(`)
	found := 0
	for _, thread := range s.Threads {
		var got []string
		for _, f := range thread.User {
			if m := method.FindStringSubmatch(f.Name); f.Runtime != "" && m != nil {
				got = append(got, fmt.Sprintf("%s:%d", m[1], f.Line))
			}
		}
		if len(got) == 0 || !strings.HasPrefix(got[0], "Waits.hold:") {
			continue
		}
		found++
		if !slices.Equal(got, want) {
			t.Errorf("thread %d:\ngot  %q\nwant %q", thread.TID, got, want)
		}
		if last := thread.User[len(thread.User)-1]; last.Runtime != "" || thread.Truncated {
			t.Errorf("thread %d: the chain ends at %s", thread.TID, last.Name)
		}
	}
	if found != 1 || len(want) != 9 {
		t.Errorf("%d threads wait in %q", found, want)
	}
}

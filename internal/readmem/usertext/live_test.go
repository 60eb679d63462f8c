package usertext_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/readmem/usertext"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/trace"
	"github.com/ringtap/ringtap/perfevent"
)

func TestMain(m *testing.M) {
	helper.Serve(map[string]helper.NewVisitor{athit.Visitor: athit.NewVisitors()})
	os.Exit(m.Run())
}

// program compiles testdata/texts.c.
func program(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc to build the fixture program")
	}
	text, err := os.ReadFile("testdata/texts.c")
	if err != nil {
		t.Fatal(err)
	}
	r := compiled.Recipe{Sources: map[string]string{"texts.c": string(text)},
		Commands: [][]string{{"gcc", "-O1", "-fno-inline", "-o", "texts", "texts.c"}}}
	return filepath.Join(r.Dir(t), "texts")
}

// follow probes the program's calls, and returns the lines about them.
func followCalls(t *testing.T, way usertext.Way, calls, sleep int) (string, *usertext.Attachment) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: probes are root's")
	}
	path := program(t)
	cmd := exec.Command(path, strconv.Itoa(calls), strconv.Itoa(sleep))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, cmd)
	defer cmd.Wait()
	defer in.Close()
	said := bufio.NewScanner(out)
	said.Scan()
	spec, err := probe.ParseUser("p:" + path + ":hit n=$arg3:s32 first=+0($arg1):string second=+0(+8(+16($arg2))):string")
	if err != nil {
		t.Fatal(err)
	}
	target := perfevent.Process(cmd.Process.Pid)
	set, err := probe.Open(spec, probe.Options{Target: target})
	if err != nil {
		t.Skip(err)
	}
	defer set.Close()
	texts, err := usertext.Attach(set.Sources, usertext.Options{Target: target, Way: way})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	var lines bytes.Buffer
	account, err := trace.Run(ctx, trace.Options{Target: target, Sources: set.Sources, Seen: texts.Seen, Out: &lines, Armed: func() {
		fmt.Fprintln(in)
		go func() {
			said.Scan()
			cancel()
		}()
	}})
	if err != nil {
		t.Fatal(err)
	}
	if lost := account.All().Lost; lost > 0 {
		t.Errorf("%d lost", lost)
	}
	texts.Close()
	return lines.String(), texts
}

// letters is a text of the n-th call.
func letters(n, length int) string {
	b := make([]byte, length)
	for i := range b {
		b[i] = byte('a' + (n+i)%26)
	}
	return string(b)
}

var line = regexp.MustCompile(`n=(\d+) first=(\(fault\)|~?"[^"]*") second=(\(fault\)|~?"[^"]*")`)

func TestLiveTextsThatTheKernelCutsAreWhole(t *testing.T) {
	for _, test := range []struct {
		way          usertext.Way
		calls, sleep int
	}{{usertext.Near, 1000, 300}, {usertext.Near, 3000, 0}, {usertext.Auto, 2000, 300}, {usertext.Kernel, 100, 0}} {
		t.Run(fmt.Sprint(test.way, test.sleep), func(t *testing.T) {
			testlimit.Enough(t, testlimit.Calls(test.calls), func(calls int) bool {
				whole := checkTexts(t, test.way, calls, test.sleep)
				if whole > 0 && test.way == usertext.Kernel {
					t.Errorf("%d are whole", whole)
				}
				return whole > 0 || test.way != usertext.Near // hits that come too fast are left to the kernel
			})
		})
	}
}

// checkTexts compares the texts of so many calls with the program's, and returns how many of the long
// ones are whole and exact.
func checkTexts(t *testing.T, way usertext.Way, calls, sleep int) (whole int) {
	t.Helper()
	lines, texts := followCalls(t, way, calls, sleep)
	all := line.FindAllStringSubmatch(lines, -1)
	if len(all) != calls {
		t.Fatalf("%d lines, want %d", len(all), calls)
	}
	cut, late := 0, 0
	for n, m := range all {
		first := strconv.Quote(letters(n, 3000))
		if n%10 == 9 {
			first = "(fault)"
		}
		if m[2] != first {
			t.Errorf("call %d: the first text is %.30q", n, m[2])
		}
		switch second := strconv.Quote(letters(n, 6000)); {
		case m[3] == second:
			whole++
		case m[3][0] == '~':
			late++
		case m[3] == "(fault)" || strings.HasSuffix(m[3], `..."`) && strings.HasPrefix(second, strings.TrimSuffix(m[3], `..."`)):
			cut++
		default:
			t.Errorf("call %d: the second text is %.30q", n, m[3])
		}
	}
	t.Logf("of %d second texts %d whole and exact, %d late, %d cut: %q", len(all), whole, late, cut, texts.Notes())
	return whole
}

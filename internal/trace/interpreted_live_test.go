package trace_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/readmem/syscalltext"
	"github.com/ringtap/ringtap/internal/runtimes/languages"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/trace"
	"github.com/ringtap/ringtap/perfevent"
)

func TestMain(m *testing.M) {
	helper.Serve(map[string]helper.NewVisitor{
		athit.Visitor:    athit.NewVisitors(),
		atsample.Visitor: atsample.NewVisitors(languages.Detectors()),
	})
	os.Exit(m.Run())
}

// opener runs testdata/opens: below eleven calls of down its function one opens /nonexistent/one, and two
// opens /nonexistent/two twice as often.
type opener struct {
	name    string
	source  string // the program's file
	command []string
	work    int  // what lets a millisecond pass
	exact   bool // each stack that has functions has those of the moment, at their lines
}

// openers are those that are installed.
func openers(t *testing.T) (all []opener) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, i := range livetest.OfEachLayout(t) {
		if i.Language == "python" {
			file := filepath.Join("testdata", "opens.py")
			all = append(all, opener{name: i.Name, source: file, command: i.Program(strings.TrimSuffix(file, ".py")).Args, work: 10_000, exact: true})
		}
	}
	if !testlimit.IsThorough() && len(all) > 1 {
		all = all[len(all)-1:]
	}
	if path, err := exec.LookPath("node"); err == nil {
		file := filepath.Join("testdata", "opens.js")
		all = append(all, opener{name: "node", source: file, command: []string{path, file}, work: 50_000})
	}
	if path, err := exec.LookPath("java"); err == nil {
		file := filepath.Join("testdata", "Opens.java")
		recipe := compiled.Recipe{Sources: compiled.Sources(t, file), Commands: [][]string{{"javac", "Opens.java"}}}
		all = append(all, opener{name: "java", source: file, command: []string{path, "-cp", recipe.Dir(t), "Opens"}, work: 300_000})
	}
	if len(all) == 0 {
		t.Skip("python3 is not installed")
	}
	return all
}

// The text that a hit opens tells which function the thread is in.
func TestLiveLinesHaveTheFunctionsOfInterpretersThatMakeTheCalls(t *testing.T) {
	for _, o := range openers(t) {
		t.Run(o.name, func(t *testing.T) {
			testlimit.Enough(t, 60, func(rounds int) bool {
				return o.check(t, rounds, o.follow(t, rounds)) >= 3*rounds*8/10
			})
		})
	}
}

// follow runs the program and returns what is shown of it.
func (o *opener) follow(t *testing.T, rounds int) string {
	t.Helper()
	tracefs, err := ftrace.Find()
	if err != nil {
		t.Skip(err)
	}
	set, err := probe.Open(&probe.Spec{Place: probe.Tracepoint, Probe: "syscalls:sys_enter_openat"}, probe.Options{})
	if err != nil {
		t.Skip(err)
	}
	defer set.Close()
	how := syscalltext.Options{Tracefs: tracefs, Method: syscalltext.Near, Near: true}
	texts, err := syscalltext.Attach(set.Sources, how)
	if err != nil {
		t.Fatal(err)
	}
	program := livetest.Start(t, exec.Command(o.command[0], append(o.command[1:], strconv.Itoa(rounds), strconv.Itoa(o.work))...))
	defer program.Close()
	target := perfevent.Process(program.PID)
	if err := texts.Start(target); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	stacks := stack.Lines(true, false)
	stacks.Interpreted = true
	var lines bytes.Buffer
	account, err := trace.Run(ctx, trace.Options{Target: target, Sources: texts.Sources, Seen: texts.Seen(), Aside: texts.ExtraEvents, Helper: texts.Helper(),
		Stacks: stacks, Out: &lines, Armed: func() { begin(t, program) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := texts.Close(); err != nil {
		t.Error(err)
	}
	if a := account.All(); a.Received+a.Duplicates+a.Lost != a.Counted {
		t.Errorf("the account is %+v", account)
	}
	t.Logf("%d lines; %q", account.Shown, account.Notes())
	return lines.String()
}

func begin(t *testing.T, program *livetest.Ready) {
	if err := program.Begin(); err != nil {
		t.Error(err)
	}
}

var (
	text  = regexp.MustCompile(`: sys_openat\(.*filename: 0x[0-9a-f]+ "/nonexistent/(\w+)"`)
	frame = regexp.MustCompile(`(?m)^ => (.+) \(([^()]+?)(?::(\d+))?\)$`)
	name  = regexp.MustCompile(`(\w+|<module>)(\(.*\))?$`)
)

// check compares the stacks of calls with what the program does. It returns how many calls have their
// functions. Java's and JavaScript's are found as in all collectors, whose tests know what may be missing.
func (o *opener) check(t *testing.T, rounds int, out string) (named int) {
	t.Helper()
	content, err := os.ReadFile(o.source)
	if err != nil {
		t.Fatal(err)
	}
	source := strings.Split(string(content), "\n")
	got := make(map[string]int)
	for _, hit := range regexp.MustCompile(`(?m)^ .*: sys_openat\(`).Split(out, -1)[1:] {
		opens := text.FindStringSubmatch(": sys_openat(" + hit)
		if opens == nil {
			continue // of the interpreter itself, or not surely of the moment
		}
		hasLines := true
		var all []livetest.Frame  // the outermost first
		var names, calls []string // of functions of the program; what stands in their lines
		for _, f := range slices.Backward(frame.FindAllStringSubmatch(hit, -1)) {
			all = append(all, livetest.Frame{Name: f[1], Interpreted: f[3] != ""})
			if filepath.Base(f[2]) != filepath.Base(o.source) {
				continue
			}
			line, _ := strconv.Atoi(f[3])
			if o.exact {
				hasLines = hasLines && line > 0
				calls = append(calls, source[max(line, 1)-1])
			}
			names = append(names, name.FindStringSubmatch(f[1])[1])
		}
		if len(names) == 0 || !hasLines || strings.Contains(hit, atsample.Late) {
			continue // a program that has ended tells no lines
		}
		want := append(slices.Repeat([]string{"down"}, 11), opens[1], "attempt")
		isRight := slices.Equal(names[1:], want)
		for i, callee := range names[1:] {
			isRight = isRight && (!o.exact || strings.Contains(calls[i], callee+"("))
		}
		switch {
		case isRight:
			named++
			got[opens[1]]++
			livetest.CheckFrames(t, all)
		case o.exact:
			t.Errorf("a call that opens %s has the functions %q at %q\n%s", opens[1], names, calls, hit)
		}
	}
	t.Logf("%d of %d calls have their functions: %v", named, 3*rounds, got)
	if got["one"] > rounds || got["two"] > 2*rounds {
		t.Errorf("%v is more than there are", got)
	}
	return named
}

// As many hits of a user probe as there can be: each is shown, and the functions of some are known.
func TestLiveAStormOfLinesHasFunctionsAtSomeHits(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, i := range livetest.OfEachLayout(t)[:1] {
		testlimit.Enough(t, testlimit.Calls(1000), func(rounds int) (enough bool) {
			testlimit.Lossless(t, func() (lost uint64) {
				lost, enough = storm(t, i, rounds)
				return lost
			})
			return enough
		})
	}
}

// storm runs a program that calls getppid once, twice and three times in functions of these names, and compares
// the stacks of the calls.
func storm(t *testing.T, i livetest.Interpreter, rounds int) (lost uint64, enough bool) {
	t.Helper()
	program := livetest.Start(t, i.Program("../collect/calls/testdata/ppid", strconv.Itoa(rounds), "0"))
	defer program.Close()
	pid, target := program.PID, perfevent.Process(program.PID)
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	libc := regexp.MustCompile(`/\S+/libc\.so\.6`).FindString(string(maps))
	spec, err := probe.ParseUser("p:" + libc + ":getppid")
	if err != nil {
		t.Fatal(err)
	}
	set, err := probe.Open(spec, probe.Options{Target: target, PMU: true, UserStacks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	stacks := stack.Lines(true, false)
	stacks.Entry, stacks.Interpreted = set.AtEntry, true
	var lines bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	account, err := trace.Run(ctx, trace.Options{Target: target, Sources: set.Sources, Stacks: stacks, Out: &lines, Armed: func() {
		begin(t, program)
		go func() {
			_, _ = program.Said.ReadString('\n') // it has called
			cancel()
		}()
	}})
	if err != nil {
		t.Fatal(err)
	}
	hits := strings.Split(lines.String(), "<user stack trace>\n")[1:]
	if lost = account.All().Lost; lost == 0 && (len(hits) != 6*rounds || account.Calls.Exact+account.Calls.Near+account.Calls.Native != uint64(6*rounds)) {
		t.Errorf("%d stacks of %d hits: %+v", len(hits), 6*rounds, account)
	}
	t.Logf("%q", account.Notes())
	var named uint64
	for _, hit := range hits {
		functions := regexp.MustCompile(`(?m)^ => (\S+?)(?:\+0x0 \(\[CPython.*| \(\S*ppid\.\w+:\d+)\)$`).FindAllStringSubmatch(hit, -1)
		if len(functions) == 0 || strings.Contains(hit, atsample.Late) {
			continue
		}
		named++
		var names []string
		for _, f := range functions {
			names = append(names, f[1])
		}
		want := append(slices.Repeat([]string{"down"}, 11), i.Main)
		if !slices.Contains([]string{"one", "two", "three", stack.Gone}, names[0]) || !livetest.AreCalls(names[1:], want) {
			t.Errorf("a call has the functions %q, which there are not", names)
		}
	}
	if named != account.Calls.Exact {
		t.Errorf("%d stacks show exact functions, and the account counts %d", named, account.Calls.Exact)
	}
	return lost, named >= 20
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// runModule runs the named tiers over a module made of those test files and
// returns what the run wrote.
func runModule(t *testing.T, names []string, packages map[string]string) (output string, ok bool) {
	t.Helper()
	makeModule(t, packages)
	chosen, err := choose(names)
	if err != nil {
		t.Fatal(err)
	}
	return runStages(chosen)
}

func runStages(stages [][]lane) (output string, ok bool) {
	var w strings.Builder
	r := runner{w: &w, packages: []string{"./..."}}
	ok = r.run(stages)
	return w.String(), ok
}

// makeModule makes a module of those test files, one package each, and goes to
// its directory.
func makeModule(t *testing.T, packages map[string]string) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is not on the PATH")
	}
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module sample\n\ngo 1.24\n"}
	for name, body := range packages {
		files[name+"/"+name+"_test.go"] = "package " + name + "\n\nimport \"testing\"\n\n" + body
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

const passing = `
func TestPlain(t *testing.T) {}
func TestTable(t *testing.T) {
	t.Run("one", func(t *testing.T) {})
	t.Run("two", func(t *testing.T) { t.Run("deeper", func(t *testing.T) {}) })
}
func TestLiveKernel(t *testing.T) {}
func TestPeerTool(t *testing.T)   {}
func FuzzSeed(f *testing.F) { f.Add(1); f.Fuzz(func(t *testing.T, n int) {}) }
`

func TestEachTierRunsTheTestsOfItsName(t *testing.T) {
	output, ok := runModule(t, []string{"unit", "live", "peer"}, map[string]string{"a": passing})
	if !ok {
		t.Errorf("status: not ok")
	}
	want(t, output,
		"unit: ran 4: 4 passed, 0 failed; 0 skipped\n", // the table counts as its two subtests
		"live: ran 1: 1 passed, 0 failed; 0 skipped\n",
		"peer: ran 1: 1 passed, 0 failed; 0 skipped\n")
	if !strings.HasSuffix(output, "\n6 passed, 0 failed, 0 skipped\n") {
		t.Errorf("closing line of %q", output)
	}
}

func TestSkipsAreCountedByReason(t *testing.T) {
	output, ok := runModule(t, []string{"unit"}, map[string]string{"a": `
func TestRuns(t *testing.T) {}
func TestA(t *testing.T) { t.Log("before"); t.Skip("gdb is not installed") }
func TestB(t *testing.T) { t.Skip("gdb is not installed") }
func TestC(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Skip("no BTF") }) }
func TestD(t *testing.T) { t.SkipNow() }
`})
	if !ok {
		t.Errorf("status: not ok; skips are no failures")
	}
	want(t, output,
		"unit: ran 1: 1 passed, 0 failed; 4 skipped\n",
		"  skipped 2: gdb is not installed\n",
		"  skipped 1: no BTF\n",
		"  skipped 1: no reason given\n")
}

func TestFailuresAreShownAndCountedOnce(t *testing.T) {
	output, ok := runModule(t, []string{"unit"}, map[string]string{"a": `
func TestGood(t *testing.T) { t.Log("not to be seen") }
func TestBad(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Error("sub differs") }) }
func TestParent(t *testing.T) {
	t.Run("fine", func(t *testing.T) {})
	t.Error("the parent differs")
}
`})
	if ok {
		t.Errorf("status: ok")
	}
	want(t, output, "unit: ran 4: 2 passed, 2 failed; 0 skipped\n", "sub differs", "the parent differs", "FAIL sample/a")
	if strings.Contains(output, "not to be seen") {
		t.Errorf("a passing test's output is shown: %q", output)
	}
}

func TestAPackageThatDoesNotBuildFails(t *testing.T) {
	output, ok := runModule(t, []string{"unit"}, map[string]string{"a": passing, "b": `func TestX(t *testing.T) { undefinedName() }`})
	if ok {
		t.Errorf("status: ok")
	}
	want(t, output, "undefined: undefinedName", "FAIL sample/b", "unit: ran 5: 4 passed, 1 failed")
}

func TestATestBinaryThatDiesFails(t *testing.T) {
	for name, body := range map[string]string{
		"panic":  `func TestX(t *testing.T) { panic("broken pipe dreams") }`,
		"exit":   `func TestMain(m *testing.M) { println("broken pipe dreams"); panic("") }` + "\n" + `func TestX(t *testing.T) {}`,
		"thread": `func TestX(t *testing.T) { go func() { panic("broken pipe dreams") }(); select {} }`,
	} {
		t.Run(name, func(t *testing.T) {
			output, ok := runModule(t, []string{"unit"}, map[string]string{"a": body})
			if ok {
				t.Errorf("status: ok")
			}
			want(t, output, "broken pipe dreams", "0 passed, 1 failed, 0 skipped\n")
		})
	}
}

func TestATierThatRanNothingFails(t *testing.T) {
	for body, says := range map[string]string{
		`func TestPlain(t *testing.T) {}`:                      "live: no package has a test for it\n",
		`func TestLiveKernel(t *testing.T) { t.Skip("root") }`: "live: ran nothing\n",
	} {
		t.Run(says, func(t *testing.T) {
			output, ok := runModule(t, []string{"live"}, map[string]string{"a": body})
			if ok {
				t.Errorf("status: ok")
			}
			want(t, output, says)
		})
	}
}

// Each of two tests waits for the other.
const meeting = `
func TestFirst(t *testing.T)  { meet(t, "first", "second") }
func TestSecond(t *testing.T) { meet(t, "second", "first") }
func meet(t *testing.T, own, other string) {
	if err := os.WriteFile(own, nil, 0o644); err != nil { t.Fatal(err) }
	for range 6000 {
		if _, err := os.Stat(other); err == nil { return }
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the other did not come")
}
`

func TestLanesRunTogetherAndReportInTheirOrder(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("a second CPU")
	}
	makeModule(t, map[string]string{"a": "import (\n\"os\"\n\"time\"\n)\n" + meeting})
	output, ok := runStages([][]lane{{
		{{name: "first", command: goTest("-run=^TestFirst")}},
		{{name: "second", command: goTest("-run=^TestSecond")}, {name: "third", command: goTest("-run=^TestSecond")}},
	}})
	first, second, third := strings.Index(output, "first: ran 1: 1 passed"), strings.Index(output, "== second tier"), strings.Index(output, "third: ran 1: 1 passed")
	if !ok || first < 0 || second < first || third < second {
		t.Errorf("ok: %t; output:\n%s", ok, output)
	}
}

// guestScript stands for vmrun: it runs the functions of the tests that are listed,
// which find in HAS what kernel they run on.
const guestScript = `#!/bin/sh
while [ "$1" != --only ]; do shift; done
run=$(sed 's/^[^ ]* //; s/\/.*//' "$2" | sort -u | paste -sd '|')
HAS=guest exec go test -json -count=1 -run "^($run)\$" ./...
`

func TestTheGuestRunsWhatTheHostSkipped(t *testing.T) {
	const body = `import "os"
func TestLiveBoth(t *testing.T) {}
func TestLiveKprobes(t *testing.T) {
	if os.Getenv("HAS") != "guest" { t.Skip("no kprobes") }
	t.Run("one", func(t *testing.T) {})
}
func TestLiveParts(t *testing.T) {
	t.Run("here", func(t *testing.T) {})
	t.Run("there", func(t *testing.T) { if os.Getenv("HAS") != "guest" { t.Skip("no BTF") } })
}
`
	const nowhere = `func TestLiveNever(t *testing.T) { t.Skip("no such CPU") }`
	for name, test := range map[string]struct {
		body string
		ok   bool
		want []string
	}{
		"each ran on some kernel": {body, true, []string{"guest: ran 3", "== where the 4 live tests ran\n     3 on guest\n     2 on live\n     0 on no kernel\n", "\n5 passed, 0 failed, 2 skipped\n"}},
		"one ran on none":         {body + nowhere, false, []string{"     1 on no kernel\n       sample/a TestLiveNever: live: no such CPU; guest: no such CPU\n"}},
		"one is for make test-all": {body + `func TestLiveEndures(t *testing.T) { t.Skip("only in make test-all") }`, true,
			[]string{"guest: ran 3", "     1 only in make test-all\n     0 on no kernel\n"}},
		"the host skipped none": {"func TestLiveBoth(t *testing.T) {}", true, []string{"guest: every test ran already\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			makeModule(t, map[string]string{"a": test.body})
			if err := os.WriteFile("guest.sh", []byte(guestScript), 0o755); err != nil {
				t.Fatal(err)
			}
			output, ok := runStages([][]lane{
				{{{name: "live", command: goTest("-run=^TestLive")}}},
				{{{name: "guest", command: []string{"./guest.sh"}, guest: true, skipped: "live"}}},
			})
			if ok != test.ok {
				t.Errorf("ok: %t", ok)
			}
			want(t, output, test.want...)
		})
	}
}

func TestATierThatDoesNotExistIsNamed(t *testing.T) {
	if _, err := choose([]string{"unit", "moon"}); err == nil || !strings.Contains(err.Error(), `"moon"`) {
		t.Errorf("choose = %v; want an error that names moon", err)
	}
}

func want(t *testing.T, output string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(output, part) {
			t.Errorf("output lacks %q:\n%s", part, output)
		}
	}
}

package compiled

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// script is a compiler that says when it runs, and stops halfway where there is a
// pipe named hold.
const script = `#!/bin/sh
echo "$*" >>"$RUNS"
echo half >out
if [ -p "$HOLD" ]; then cat "$HOLD"; fi
if [ "$1" = fail ]; then echo "the source is wrong" >&2; exit 1; fi
cat source "$1" >out
`

// setup gives the test a cache of its own and a compiler, and returns a recipe and
// the path where the compiler notes its runs.
func setup(t *testing.T) (r Recipe, runs string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv(Variable, filepath.Join(dir, "cache"))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("RUNS", filepath.Join(dir, "runs"))
	t.Setenv("HOLD", filepath.Join(dir, "hold"))
	writeFile(t, filepath.Join(dir, "compiler"), script)
	return Recipe{
		Sources:  map[string]string{"source": "text", "sub/header": " and more"},
		Commands: [][]string{{"compiler", "sub/header"}},
	}, filepath.Join(dir, "runs")
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wantRuns(t *testing.T, runs string, want int) {
	t.Helper()
	if n := strings.Count(readFile(t, runs), "\n"); n != want {
		t.Errorf("the compiler ran %d times, want %d", n, want)
	}
}

func TestWhatIsCompiledOnceIsNotCompiledAgain(t *testing.T) {
	r, runs := setup(t)
	first := r.Dir(t)
	if got := readFile(t, filepath.Join(first, "out")); got != "text and more" {
		t.Errorf("it made %q", got)
	}
	if again := r.Dir(t); again != first {
		t.Errorf("in %s, then in %s", first, again)
	}
	wantRuns(t, runs, 1)
}

func TestAllThatAProgramDependsOnMakesAnotherOne(t *testing.T) {
	r, runs := setup(t)
	seen := map[string]bool{r.Dir(t): true}
	for i, change := range []func(){
		func() { r.Sources["source"] = "other text" },
		func() { r.Commands = [][]string{{"compiler", "sub/header", "flag"}} },
		func() { r.Commands = append(r.Commands, r.Commands[0]) },
		func() { r.Env = []string{"A=1"} },
		func() { t.Setenv("CPATH", "/somewhere") },
		func() { t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -trimpath") }, // the caller may have set it
		func() { writeFile(t, filepath.Join(filepath.Dir(runs), "compiler"), script+"\n") },
	} {
		change()
		if dir := r.Dir(t); seen[dir] {
			t.Errorf("change %d makes no difference", i)
		} else {
			seen[dir] = true
		}
	}
	t.Setenv("HOME_OF_NO_COMPILER", "1")
	if !seen[r.Dir(t)] {
		t.Error("any variable makes a difference")
	}
}

func TestWhatFailsIsToldAndNotKept(t *testing.T) {
	r, runs := setup(t)
	r.Commands = [][]string{{"compiler", "fail"}}
	for range 2 {
		if _, err := r.Try(t); err == nil || !strings.Contains(err.Error(), "the source is wrong") || !strings.Contains(err.Error(), "compiler fail") {
			t.Errorf("error %v", err)
		}
	}
	wantRuns(t, runs, 2)
	if left, err := filepath.Glob(filepath.Join(os.Getenv(Variable), "*", "out")); err != nil || left != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestAMissingToolIsNamed(t *testing.T) {
	r, _ := setup(t)
	r.Commands = append(r.Commands, []string{"no-such-compiler"})
	missing := (*MissingError)(nil)
	if _, err := r.Try(t); !errors.As(err, &missing) || missing.Tool != "no-such-compiler" {
		t.Errorf("error %v", err)
	}
	if err := r.Make(t.TempDir()); !errors.As(err, &missing) || missing.Tool != "no-such-compiler" {
		t.Errorf("without the cache: error %v", err)
	}
}

func TestManyAtOnceCompileOnce(t *testing.T) {
	r, runs := setup(t)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			dir, err := r.Try(t)
			if err != nil {
				t.Error(err)
				return
			}
			if text, err := os.ReadFile(filepath.Join(dir, "out")); string(text) != "text and more" {
				t.Errorf("it made %q, %v", text, err)
			}
		})
	}
	all.Wait()
	wantRuns(t, runs, 1)
}

// TestACompilerThatOutlivesItsTestIsWaitedFor kills a test binary while its
// compiler has half of a file.
func TestACompilerThatOutlivesItsTestIsWaitedFor(t *testing.T) {
	if os.Getenv("KILLED") != "" {
		r := Recipe{Sources: map[string]string{"source": "text", "sub/header": " and more"}, Commands: [][]string{{"compiler", "sub/header"}}}
		r.Dir(t)
		return
	}
	r, runs := setup(t)
	if err := unix.Mkfifo(os.Getenv("HOLD"), 0o600); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "KILLED=1")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	hold, err := os.OpenFile(os.Getenv("HOLD"), os.O_WRONLY, 0) // waits for the compiler
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if err := os.Remove(os.Getenv("HOLD")); err != nil {
		t.Fatal(err)
	}

	halves, err := filepath.Glob(filepath.Join(os.Getenv(Variable), "*", "out"))
	if err != nil || len(halves) != 1 || readFile(t, halves[0]) != "half\n" {
		t.Fatalf("it has made %v, %v", halves, err)
	}
	dir, err := os.Open(filepath.Dir(halves[0]))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != unix.EWOULDBLOCK {
		t.Errorf("the compiler works in a directory that is free: %v", err)
	}
	dir.Close()
	hold.Close()
	if made := r.Dir(t); made != filepath.Dir(halves[0]) || readFile(t, halves[0]) != "text and more" {
		t.Errorf("it made %s with %q", made, readFile(t, halves[0]))
	}
	wantRuns(t, runs, 2)
}

func TestAnEntryThatIsNotWhatWasMadeIsMadeAnew(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"changed":      func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "out"), "TEXT AND MORE") },
		"file missing": func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "out")) },
		"not finished": func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, marker)) },
		"more":         func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "more"), "") },
		"removed":      func(t *testing.T, dir string) { os.RemoveAll(dir) },
	} {
		t.Run(name, func(t *testing.T) {
			r, runs := setup(t)
			dir, err := r.Try(t)
			if err != nil {
				t.Fatal(err)
			}
			spoil(t, dir)
			if again := r.Dir(t); again != dir || readFile(t, filepath.Join(again, "out")) != "text and more" {
				t.Errorf("%s, want %s", again, dir)
			}
			if _, err := os.Stat(filepath.Join(dir, "more")); err == nil {
				t.Error("what was put there is still there")
			}
			wantRuns(t, runs, 2)
		})
	}
}

func TestATestThatChangesWhatOthersShareFails(t *testing.T) {
	if os.Getenv("SPOILER") != "" {
		r := Recipe{Sources: map[string]string{"source": "text", "sub/header": " and more"}, Commands: [][]string{{"compiler", "sub/header"}}}
		writeFile(t, filepath.Join(r.Dir(t), "out"), "changed")
		return
	}
	setup(t)
	t.Setenv("SPOILER", "1")
	out, err := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "this test needs a compiled.Copy") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWithoutACacheProgramsLiveAsLongAsTheirTest(t *testing.T) {
	r, runs := setup(t)
	t.Setenv(Variable, filepath.Join(filepath.Dir(runs), "compiler", "no directory"))
	first, second := r.Dir(t), r.Dir(t)
	if first == second || readFile(t, filepath.Join(second, "out")) != "text and more" {
		t.Errorf("in %s and %s", first, second)
	}
	wantRuns(t, runs, 2)
	t.Run("no home", func(t *testing.T) {
		t.Setenv(Variable, "")
		t.Setenv("HOME", "")
		t.Setenv("XDG_CACHE_HOME", "")
		if got := readFile(t, filepath.Join(r.Dir(t), "out")); got != "text and more" {
			t.Errorf("it made %q", got)
		}
	})
}

func TestACopyIsItsTestsOwn(t *testing.T) {
	r, runs := setup(t)
	shared := filepath.Join(r.Dir(t), "out")
	own := Copy(t, shared)
	writeFile(t, own, "changed")
	if filepath.Base(own) != "out" || readFile(t, shared) != "text and more" {
		t.Errorf("%s, and the one it is of is %q", own, readFile(t, shared))
	}
	wantRuns(t, runs, 1)
	if program := Copy(t, filepath.Join(filepath.Dir(runs), "compiler")); exec.Command(program, "fail").Run() == nil {
		t.Error("it can't be run")
	}
}

func TestWhatNobodyUsesIsRemoved(t *testing.T) {
	r, runs := setup(t)
	make := func(text string, unused time.Duration) string {
		r.Sources["source"] = text
		dir, err := r.Try(t)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-unused)
		if err := os.Chtimes(filepath.Join(dir, marker), at, at); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	large := strings.Repeat("x", 1000)
	old, unused, used, busy := make("old", 100*time.Hour), make(large, 50*time.Hour), make("used", 2*time.Hour), make("busy", 100*time.Hour)
	half := filepath.Join(filepath.Dir(old), "half")
	if err := os.Mkdir(half, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := lockEntry(busy)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	b := bounds{age: 99 * time.Hour, bytes: 1000, young: 3 * time.Hour}
	check := func(when string, want ...string) {
		t.Helper()
		for _, dir := range []string{old, unused, used, busy, half} {
			_, err := os.Stat(dir)
			if there := err == nil; there != strings.Contains(strings.Join(want, " "), dir) {
				t.Errorf("%s: %s is there: %t", when, dir, there)
			}
		}
	}
	b.every = time.Hour
	sweep(os.Getenv(Variable), b)
	check("just swept", old, unused, used, busy, half)
	b.every = 0
	sweep(os.Getenv(Variable), b)
	check("swept", used, busy, half)
	wantRuns(t, runs, 4)
}

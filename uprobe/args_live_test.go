package uprobe

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

func TestLiveArgumentsHaveTheValuesOfTheCalls(t *testing.T) {
	tests := []struct {
		build, definition string
		want              []string // the distinct texts, sorted
	}{
		{"pie", "p:{}:target $arg1:s32 name=+0($arg2):string $arg3:u8", []string{`arg1=-1 name="zero" arg3=0`, `arg1=0 name="one" arg3=1`, `arg1=1 name="two" arg3=2`}},
		{"pie", "p:{}:target %di:s32", []string{"arg1=-1", "arg1=0", "arg1=1"}},
		{"pie", "r:{}:target ret=$retval:s64", []string{"ret=11", "ret=2", "ret=6"}},
		{"static", "r:{}:answer +0($retval):string", []string{`arg1="answer 0"`, `arg1="answer 1"`, `arg1="answer 2"`}},
		{"pie", "p:{}:target n", []string{"n=-1", "n=0", "n=1"}},
		{"pie", "p:{}:target name first=n:s64 %dx:u8 c:x8", []string{
			`name="one" first=0 arg3=1 c=0x1`, `name="two" first=1 arg3=2 c=0x2`, `name="zero" first=4294967295 arg3=0 c=0x0`}},
		{"pie", "p:{}:target $args", []string{
			`n=-1 name="zero" c=0`, `n=0 name="one" c=1`, `n=1 name="two" c=2`}},
		{"debuglink", "p:{}:target n name", []string{`n=-1 name="zero"`, `n=0 name="one"`, `n=1 name="two"`}},
		{"i386", "p:{}:target n=$arg1:s32 $arg1 $arg3:u8 $stack1:s32", []string{"n=-1 arg2=0xffffffff arg3=0 arg4=-1", "n=0 arg2=0x0 arg3=1 arg4=0", "n=1 arg2=0x1 arg3=2 arg4=1"}},
		{"i386", "r:{}:target ret=$retval:s32", []string{"ret=11", "ret=2", "ret=6"}},
		{"i386", "r:{}:answer +0($retval):string", []string{`arg1="answer 0"`, `arg1="answer 1"`, `arg1="answer 2"`}},
		{"i386-go", `p:{}:"main.(*counter).add" $arg2:s32`, []string{"arg1=0", "arg1=1", "arg1=2"}},
		{"cxx", "p:{}:ns::T::f(int) n", []string{"n=0", "n=1", "n=2"}},
		{"rust", "p:{}:hits::greet $args", []string{`name="hello" name_len=6 times=3`}},
		{"rust", "p:{}:hits::greet times:x8", []string{"times=0x3"}},
		{"go", `p:{}:"main.(*counter).add" $arg2`, []string{"arg1=0x0", "arg1=0x1", "arg1=0x2"}},
		{"go-stripped", `p:{}:"main.(*counter).add" $arg2:s64`, []string{"arg1=0", "arg1=1", "arg1=2"}},
		{"go", `p:{}:"main.(*counter).add" n`, []string{"n=0", "n=1", "n=2"}},
		{"go", "p:{}:main.greet name", []string{`name="hello" name_len=6`}},
		{"go", "p:{}:main.greet times", []string{"times=0", "times=1", "times=2"}},
		{"go", `r:{}:"main.(*counter).add" $retval:s64`, []string{"arg1=0", "arg1=1", "arg1=3"}},
		{"go-stripped", "r:{}:main.greet $retval:s64", []string{"arg1=0", "arg1=12", "arg1=6"}},
	}
	built := map[string]string{}
	for _, test := range tests {
		if testlimit.Emulated() && !slices.Contains([]string{"pie", "go", "i386", "i386-go"}, test.build) {
			continue // what differs is in the files; 32-bit programs do not run on every host
		}
		why := unavailable(t, test.build)
		if why == "" && built[test.build] == "" {
			built[test.build] = own(t, test.build)
		}
		t.Run(test.build+" "+test.definition, func(t *testing.T) {
			if why != "" {
				t.Skip(why)
			}
			program := built[test.build]
			p := resolve(t, replaceTarget(test.definition, program), Options{})
			got := texts(trace(t, p, AttachOptions{}, program, "3"))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (%q):\n%s", p, p.Notes, diff)
			}
		})
	}
}

func TestLiveReturnsOfGoFunctionsWhoseStacksMoveAreAllSeen(t *testing.T) {
	program := own(t, "go")
	p := resolve(t, "r:"+program+":main.deep $retval:s64", Options{})
	// deep(1000) on four goroutines, each of which starts with a small stack.
	if hits := trace(t, p, AttachOptions{}, program, "1"); len(hits) != 4*1001 {
		t.Errorf("%d hits, want %d", len(hits), 4*1001)
	}
}

func TestLiveUSDTProbesAreHitWithTheirArguments(t *testing.T) {
	needRoot(t)
	source := `
#include "marks.h"
#include <stdlib.h>
SEMAPHORE(test_guarded_semaphore);
int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[1]); i++) {
		MARK("test", "plain", "0", "-4@%0 8@%1", "r"(i - 1), "r"("text"));
		if (test_guarded_semaphore)
			MARK("test", "guarded", "test_guarded_semaphore", "-4@%0", "r"(i));
	}
	MARK("test", "plain", "0", "-4@%0 8@%1", "r"(100), "r"("end"));
	return 0;
}`
	sources := compiled.Sources(t, "../internal/probe/usdt/testdata/marks.h")
	sources["marks.c"] = source
	program := compiled.Copy(t, compiled.Program(t, sources, "gcc", "-O2", "-o", "marks", "marks.c"))
	for definition, want := range map[string][]string{
		"u:{}:test:guarded $args":                         {"arg1=0", "arg1=1"},
		"u:{}:test:plain x=arg1 arg2:string":              {`x=-1 arg2="text"`, `x=0 arg2="text"`, `x=100 arg2="end"`},
		"u:{}:test:plain +0($arg2):string c=+1($arg2):u8": {`arg1="end" c=110`, `arg1="text" c=101`},
		"u:{}:*:plain $arg1":                              {"arg1=-1", "arg1=0", "arg1=100"},
		"u:name {}:test:guarded i=$arg1:u8 arg1:x8":       {"i=0 arg1=0x0", "i=1 arg1=0x1"},
	} {
		p := resolve(t, replaceTarget(definition, program), Options{})
		if diff := cmp.Diff(want, texts(trace(t, p, AttachOptions{}, program, "2"))); diff != "" {
			t.Errorf("%s (%q):\n%s", p, p.Notes, diff)
		}
	}
	d, err := Parse("u:" + program + ":test:plain +0($arg1):string")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Resolve(d, Options{}); err == nil || !strings.Contains(err.Error(), "$arg1 of test:plain is s32") {
		t.Errorf("an address of 32 bits: %v", err)
	}
	marks, err := Marks(program, Options{})
	var listed []string
	for _, m := range marks {
		listed = append(listed, m.String())
	}
	if diff := cmp.Diff([]string{"test:guarded arg1:s32", "test:plain arg1:s32 arg2:u64"}, listed); diff != "" || err != nil {
		t.Errorf("the marks: %v %s", err, diff)
	}
	// The semaphore goes up by an event of tracefs and by one of perf's own.
	p := resolve(t, "u:"+program+":test:guarded", Options{})
	if hits := trace(t, p, AttachOptions{}, program, "7"); len(hits) != 7 {
		t.Errorf("%s: %d hits, want 7", p, len(hits))
	}
	if hits := traceSystem(t, p, AttachOptions{}, program, "7"); len(hits) != 7 {
		t.Errorf("%s, system-wide: %d hits, want 7", p, len(hits))
	}
}

func TestLiveALineIsHitAsOftenAsItRuns(t *testing.T) {
	program := own(t, "pie")
	text, err := sources.ReadFile("testdata/hits.c")
	if err != nil {
		t.Fatal(err)
	}
	line := 0
	for i, s := range strings.Split(string(text), "\n") {
		if strings.Contains(s, "snprintf(text,") {
			line = i + 1
		}
	}
	p := resolve(t, fmt.Sprintf("p:%s:hits.c:%d", program, line), Options{})
	if hits := trace(t, p, AttachOptions{}, program, "20"); len(hits) != 20*len(p.Sites) {
		t.Errorf("%s: %d hits, want 20 at each place", p, len(hits))
	}
}

package session

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/scripts"
)

// knownProgram is the C program that knows what it calls, where probes of no other test are.
func knownProgram(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: uprobes")
	}
	source := compiled.Sources(t, "testdata/known.c")
	return compiled.Copy(t, compiled.Program(t, source, "gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-o", "known", "known.c"))
}

// of runs a program that probes what its command line names, beside a known one.
func of(t *testing.T, known *exec.Cmd, name string, line scripts.CommandLine, named map[string]string, report string) (string, int) {
	t.Helper()
	p := shippedNamed(t, name)
	line.Library = func(name string) string { return name }
	text, params, err := p.For(line)
	if err != nil {
		t.Fatal(err)
	}
	return watched(t, known, Options{Text: text, File: name, Params: params, Named: named, Target: &perfevent.Target{}}, report)
}

func TestLiveShippedProgramsCountKnownCalls(t *testing.T) {
	path := knownProgram(t)
	at := path + ":known_call"
	for _, test := range []struct {
		name  string
		args  []string
		named map[string]string
		texts []string
		times int
	}{
		{"stackcount", []string{at}, nil, []string{" 100 "}, 1},
		{"stackcount", []string{"uprobe:" + at}, map[string]string{"perpid": "true"}, []string{"known [PID]"}, 1},
		{"funclatency", []string{at}, nil, []string{"avg = ", "nsecs", "count: 100"}, 1},
		{"funclatency", []string{path + ":known_c*"}, map[string]string{"function": "true", "microseconds": "true"}, []string{"usecs", "count: 200"}, 1},
		{"funclatency", []string{path + ":known_c*"}, map[string]string{"function": "true"}, []string{"@function[known_call"}, 2},
		{"trace", []string{at + ` "%d %s", arg1, arg2`}, nil, []string{"PID PID known known_call 7 odd"}, 10},
		{"trace", []string{at + ` (arg1 == 4)`, "r:" + at + ` (retval == 6) "%d", retval`}, nil, []string{"known known_call"}, 20},
		{"trace", []string{at + `(int n, char *text) (STRCMP("even", text)) "%s", text`}, nil, []string{"known_call even"}, 50},
		{"trace", []string{"uprobe:" + at + ` "%s", str(arg1)`}, map[string]string{"max-events": "100"}, []string{"known_call odd"}, 50},
		{"trace", []string{at}, map[string]string{"user-stack": "true"}, []string{"known_caller+"}, 100},
	} {
		t.Run(fmt.Sprint(test.name, strings.ReplaceAll(test.args[0], path, "known"), test.named), func(t *testing.T) {
			out, pid := of(t, exec.Command(path), test.name, scripts.CommandLine{Args: test.args}, test.named, "")
			var texts []string
			for _, text := range test.texts {
				texts = append(texts, strings.ReplaceAll(text, "PID", fmt.Sprint(pid)))
			}
			if lines := linesWith(out, texts...); len(lines) != test.times {
				t.Errorf("%d lines with %q, want %d, in\n%s", len(lines), texts, test.times, out)
			}
		})
	}
}

func TestLiveStackcountShowsWhoCalls(t *testing.T) {
	path := knownProgram(t)
	out, _ := of(t, exec.Command(path), "stackcount", scripts.CommandLine{Args: []string{path + ":known_call"}}, nil, "")
	words := strings.Fields(out)
	call := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "known_call+") })
	if call < 0 || !strings.HasPrefix(words[call+1], "known_caller+") || !strings.HasPrefix(words[call+2], "main+") {
		t.Errorf("no stack of known_call, known_caller and main in\n%s", out)
	}
}

func TestLiveShippedProgramsCountCallsOfTheKernel(t *testing.T) {
	needKprobes(t)
	for _, test := range []struct {
		name, probe string
		named       map[string]string
		text        string
	}{
		{"stackcount", "p::vfs_mkdir", nil, "100"},
		{"funclatency", "vfs_rmdir", nil, "count: 100"},
		{"trace", `r::vfs_rmdir (retval == 0) "%d", retval`, nil, "exe vfs_rmdir 0"},
		{"argdist", "r::vfs_rmdir()", map[string]string{"interval": "3600"}, "100 retval = 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			line := scripts.CommandLine{Args: []string{test.probe}, Options: map[string][]string{"value-counts": {test.probe}}}
			out, _ := of(t, knownIn("files:"+t.TempDir()), test.name, line, test.named, "")
			want := 1
			if test.name == "trace" {
				want = known
			}
			if lines := linesWith(out, test.text); len(lines) != want {
				t.Errorf("%d lines with %q, want %d, in\n%s", len(lines), test.text, want, out)
			}
		})
	}
}

func TestLiveArgdistCountsKnownValues(t *testing.T) {
	path := knownProgram(t)
	for _, test := range []struct {
		option, spec string
		rows         []string
	}{
		{"value-counts", "p:" + path + ":known_call(int n):int:n", []string{"10 n = 0", "10 n = 9"}},
		{"value-counts", "p:" + path + ":known_call(int n, char *text):char*:text", []string{"50 text = even", "50 text = odd"}},
		{"value-counts", "p:" + path + ":known_call(int n, char *text):int,char*:n,text:n==3", []string{"10 n = 3, text = odd"}},
		{"value-counts", "r:" + path + ":known_call(int n):int:$entry(n):$retval==2*$entry(n) && $latency > 0", []string{"10 $entry(n) = 5"}},
		{"value-counts", "r:" + path + ":known_call()", []string{"10 retval = 18"}},
		{"value-counts", "p:" + path + ":known_call()#calls", []string{"calls", "100 total calls"}},
		{"value-counts", "uprobe:" + path + ":known_call():int:arg0", []string{"10 arg0 = 1"}},
		{"value-histograms", "r:" + path + ":known_call():int:$retval#doubled", []string{"doubled", "[4, 8) 20 |", "[16, 32) 20 |"}},
	} {
		t.Run(strings.ReplaceAll(test.spec, path, "known"), func(t *testing.T) {
			line := scripts.CommandLine{Options: map[string][]string{test.option: {test.spec}}}
			out, _ := of(t, exec.Command(path), "argdist", line, map[string]string{"cumulative": "true"}, "")
			for _, row := range test.rows {
				if len(linesWith(out, row)) == 0 {
					t.Errorf("no row %q in\n%s", row, out)
				}
			}
		})
	}
}

func TestLiveProfileFindsWhereTheTimeGoes(t *testing.T) {
	path := knownProgram(t)
	line := scripts.CommandLine{Options: map[string][]string{"frequency": {"99"}}}
	out, pid := of(t, exec.Command(path, "work"), "profile", line, map[string]string{"frequency": "99"}, "")
	if len(linesWith(out, "Sampling at 99 Hertz")) != 1 || len(linesWith(out, fmt.Sprintf("- known (%d)", pid))) == 0 ||
		len(linesWith(out, "known_work+")) == 0 {
		t.Errorf("known_work is not in\n%s", out)
	}
}

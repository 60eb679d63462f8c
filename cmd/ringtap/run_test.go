package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// called runs ringtap under a name and returns what it prints.
func called(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, log bytes.Buffer
	code = run(t.Context(), args, &console{stdout: &out, stderr: &log})
	return code, out.String(), log.String()
}

func TestALinkNamedBpftraceTakesItsCommandLine(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script.bt")
	if err := os.WriteFile(script, []byte("#!/usr/bin/env bpftrace\nBEGIN { printf(\"%d %s\\n\", $1, str($2)); exit(); }\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	printed := filepath.Join(dir, "printed")
	const hello = `BEGIN { printf("hello\n"); exit(); }`
	for _, test := range []struct {
		args   []string
		code   int
		stdout string
		stderr string // what it begins with
	}{
		{[]string{script, "5", "words"}, 0, "5 words\n\n\n", "Attached 1 probe\n"},
		{[]string{"-q", script, "5", "words"}, 0, "5 words\n\n\n", ""},
		{[]string{script, "-q", "5", "words"}, 0, "5 words\n\n\n", ""},
		{[]string{"-e", hello}, 0, "hello\n\n\n", "Attached 1 probe\n"},
		{[]string{"--dialect", "default", "-e", hello}, 0, "Attaching 1 probe...\nhello\n\n\n", ""},
		{[]string{"-e", `config = { dialect = "0.17" } ` + hello}, 0, "Attaching 1 probe...\nhello\n\n\n", ""},
		{[]string{"-f", "json", "-e", hello}, 0, "{\"type\": \"attached_probes\", \"count\": 1, \"data\": {\"probes\": 1}}\n{\"type\": \"printf\", \"data\": \"hello\\n\"}\n", ""},
		{[]string{"-fjson", "-q", "-B", "none", "-e", hello}, 0, "{\"type\": \"printf\", \"data\": \"hello\\n\"}\n", ""},
		{[]string{"-q", "-kk", "--no-warnings", "--btf", "--usdt-file-activation", "--no-feature", "kprobe_multi", "-b", "-e", hello}, 0, "hello\n\n\n", ""},
		{[]string{"-q", "--dry-run", "-e", hello}, 0, "", ""},
		{[]string{"-q", "-o", printed, "-e", hello}, 0, "", ""},
		{[]string{"-q", "-e", `BEGIN { exit(3); }`}, 3, "\n\n", ""},
		{[]string{"-q", "-c", "/bin/false", "-e", `BEGIN { printf("%d\n", cpid > 0); }`}, 1, "1\n\n\n", ""},
		{[]string{"-c", "/bin/true", "-p", "1", "-e", hello}, 2, "", "ringtap run: -p and -c"},
		{[]string{"-e", "BEGIN { x"}, 1, "", "stdin:1:"},
		{[]string{"-V"}, 0, "bpftrace v0.26.0 (ringtap)\n", ""},
		{[]string{"--aot", "x", "-e", hello}, 2, "", "ringtap run: --aot is for BPF programs"},
		{[]string{"-f", "xml", "-e", hello}, 2, "", "ringtap run: Invalid output format \"xml\""},
		{[]string{"-B", "some", "-e", hello}, 2, "", "ringtap run: --buffer"},
		{[]string{"--dialect", "0.1", "-e", hello}, 2, "", "ringtap run: --dialect"},
		{[]string{"-l", filepath.Join(dir, "none.bt")}, 0, "", "WARNING: It appears that '" + filepath.Join(dir, "none.bt") + "' is a filename"},
		{[]string{"--unknown"}, 2, "", "ringtap run: no flag --unknown"},
		{nil, 2, "", "ringtap run: give a program"},
		{[]string{filepath.Join(dir, "none.bt")}, 1, "", "ringtap run: open "},
		{[]string{"execsnoop.bt"}, 1, "", "ringtap run: open execsnoop.bt: no such file or directory; ringtap ships a program of that name: ringtap execsnoop\n"},
		{[]string{"i:s:1 { exit(); }"}, 1, "", "ringtap run: open i:s:1 { exit(); }: no such file or directory; if this is a program, put -e before it\n"},
	} {
		code, stdout, stderr := called(t, append([]string{"/usr/local/bin/bpftrace"}, test.args...)...)
		if code != test.code || stdout != test.stdout || !strings.HasPrefix(stderr, test.stderr) || (stderr == "") != (test.stderr == "") {
			t.Errorf("bpftrace %q: exit code %d\n%s%s", test.args, code, stdout, stderr)
		}
	}
	if text, err := os.ReadFile(printed); err != nil || string(text) != "hello\n\n\n" {
		t.Errorf("-o: %q, %v", text, err)
	}
}

func TestTheDefaultDialectIsTheReleaseThatTheVersionNames(t *testing.T) {
	for _, test := range []struct {
		command        []string
		version, stats string
	}{
		{[]string{"/usr/local/bin/bpftrace"}, "bpftrace v0.26.0 (ringtap)\n", "@x: { .count = 1, .average = 5, .total = 5 }"},
		{[]string{"ringtap", "bpftrace"}, "bpftrace v0.26.0 (ringtap)\n", "@x: { .count = 1, .average = 5, .total = 5 }"},
		{[]string{"ringtap", "run"}, "bpftrace v0.17.0 (ringtap)\n", "@x: count 1, average 5, total 5"},
	} {
		if _, stdout, _ := called(t, append(slices.Clone(test.command), "--version")...); stdout != test.version {
			t.Errorf("%q --version: %s", test.command, stdout)
		}
		args := append(slices.Clone(test.command), "-q", "-e", `BEGIN { @x = stats(5); exit(); }`)
		if code, stdout, stderr := called(t, args...); code != 0 || strings.TrimSpace(stdout) != test.stats {
			t.Errorf("%q: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
}

func TestInfoHasTheFeaturesThatBpftracesTestsAskFor(t *testing.T) {
	code, stdout, _ := called(t, "/usr/local/bin/bpftrace", "--info")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, feature := range []string{
		"dpath", "get_tai_ns", "get_func_ip", "lookup_percpu_elem", "loop", "btf", "kprobe_multi", "uprobe_multi", "kprobe_session", "iter",
		"libdw (DWARF support)", "bcc library path resolution", "blazesym (advanced symbolization)", "dwunwind (DWARF stack unwinding)",
	} {
		if !strings.Contains(stdout, "  "+feature+": yes\n") && !strings.Contains(stdout, "  "+feature+": no\n") {
			t.Errorf("--info has no line for %s:\n%s", feature, stdout)
		}
	}
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); strings.Contains(stdout, "  btf: yes\n") != (err == nil) {
		t.Errorf("--info is wrong about BTF:\n%s", stdout)
	}
}

func TestTestRunnersHearWhenProbesAreAttached(t *testing.T) {
	t.Setenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED", "1")
	file := filepath.Join(t.TempDir(), "printed")
	for _, test := range []struct {
		args   []string
		stdout string
	}{
		{[]string{"--dialect", "default"}, "Attaching 1 probe...\n__BPFTRACE_NOTIFY_PROBES_ATTACHED\nhello\n\n\n"},
		{nil, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\nhello\n\n\n"},
		{[]string{"-q", "-f", "json"}, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n{\"type\": \"printf\", \"data\": \"hello\\n\"}\n"},
		{[]string{"-o", file}, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n"},
	} {
		args := append([]string{"bpftrace"}, test.args...)
		code, stdout, stderr := called(t, append(args, "-e", `BEGIN { printf("hello\n"); exit(); }`)...)
		if code != 0 || stdout != test.stdout {
			t.Errorf("%q: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
}

func TestParametersFollowTheProgram(t *testing.T) {
	for _, test := range []struct {
		args   []string
		params []string
		named  map[string]string
	}{
		{[]string{"-e", "BEGIN {}", "1", "two"}, []string{"1", "two"}, nil},
		{[]string{"-e", "BEGIN {}", "1", "--", "--limit=5", "--all", "x"}, []string{"1", "x"}, map[string]string{"limit": "5", "all": ""}},
		{[]string{"-e", "BEGIN {}", "--", "-5"}, []string{"-5"}, nil},
	} {
		var r runFlags
		flags := newFlags(&console{}, "run", runUsage)
		r.add(flags)
		if err := parse(flags, test.args); err != nil {
			t.Fatal(err)
		}
		if err := r.read(flags); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.Params, test.params) || len(r.Named) != len(test.named) || r.Named["limit"] != test.named["limit"] {
			t.Errorf("%q: %q and %v", test.args, r.Params, r.Named)
		}
	}
}

func TestAStageMayFollowDebug(t *testing.T) {
	got := stagesJoined([]string{"-d", "ast", "-d", "-e", "x", "--", "-d", "all"})
	if want := []string{"--debug=ast", "-d", "-e", "x", "--", "-d", "all"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

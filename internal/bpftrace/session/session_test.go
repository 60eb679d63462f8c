package session

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

var update = flag.Bool("update", false, "run bpftrace again and keep what it prints")

// result is what a run came to.
type result struct {
	stdout, stderr string
	code           int
	err            error
}

func runText(t *testing.T, ctx context.Context, o Options) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, testlimit.End)
	defer cancel()
	var stdout, stderr bytes.Buffer
	o.Stdout, o.Stderr = &stdout, &stderr
	code, err := Run(ctx, o)
	return result{stdout.String(), stderr.String(), code, err}
}

// params are $1 and $2 of the programs of testdata.
var params = []string{"42", "text"}

// The programs of testdata print what bpftrace 0.17 printed when they were captured.
func TestProgramsPrintWhatBpftracePrints(t *testing.T) {
	for _, file := range programs(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		captured := strings.TrimSuffix(file, ".bt") + ".out"
		if *update {
			if err := os.WriteFile(captured, bpftrace(t, file), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(captured)
		if err != nil {
			t.Fatal(err)
		}
		got := runText(t, t.Context(), Options{Text: string(text), File: file, Params: params, Dialect: "0.17"})
		if got.stdout != string(want) || got.code != 0 || got.err != nil {
			t.Errorf("%s: exit code %d, %v\n%s\nwant\n%s\nstderr: %s", file, got.code, got.err, got.stdout, want, got.stderr)
		}
	}
}

func TestTextsOfEnumsAndStructsOfBytes(t *testing.T) {
	const text = `enum word { ONE = 1 }; struct pair { uint8_t a; uint16_t b; };
begin { $p = (struct pair)(uint8[8])0x04030201; printf("%s %s %d %d %d", str((enum word)1), str((enum word)2), $p.a, $p.b, sizeof(((uint16)1, $p))); exit(); }`
	if got := runText(t, t.Context(), Options{Text: text, Quiet: true}); strings.TrimSpace(got.stdout) != "ONE 2 1 1027 6" {
		t.Errorf("it prints %q\n%s", got.stdout, got.stderr)
	}
}

func TestPeerProgramsPrintWhatBpftracePrints(t *testing.T) {
	version, err := exec.Command("bpftrace", "--version").Output()
	if err != nil || !strings.Contains(string(version), "v0.17") {
		t.Skip("bpftrace 0.17 is not installed")
	}
	for _, file := range programs(t) {
		captured, err := os.ReadFile(strings.TrimSuffix(file, ".bt") + ".out")
		if err != nil {
			t.Fatal(err)
		}
		if got := string(bpftrace(t, file)); got != string(captured) {
			t.Errorf("%s: bpftrace prints\n%s\nand printed\n%s", file, got, captured)
		}
	}
}

func programs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.bt")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	return files
}

// bpftrace returns what bpftrace prints for a program.
func bpftrace(t *testing.T, file string) []byte {
	t.Helper()
	out, err := exec.Command("bpftrace", append([]string{file}, params...)...).Output()
	if err != nil {
		t.Fatalf("bpftrace %s: %v", file, err)
	}
	return out
}

func TestWhatIsWrongIsShownAtItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"BEGIN { printf(\"x\"; }":                       "stdin:1:19-20: ERROR:",
		"BEGIN { printf(\"%d\\n\", \"x\"); }":           "ERROR: printf: %d specifier expects a value of type integer (string supplied)",
		"watchpoint:1:8:w { @ = count(); }":             "ERROR: an address of a program is another thing in each process: name one with -p or -c\nwatchpoint:1:8:w",
		"software:nosuch:1 { @ = count(); }":            "ERROR: there is no software event \"nosuch\"",
		"BEGIN { @ = 1 }\ninterval:days:1 { @ = 2; }":   "stdin:2:1-9: ERROR: there is no unit \"days\" of time",
		"self:signal:SIGTERM { @ = 1 }":                 "ERROR: a self probe is self:signal:SIGUSR1",
		"// nothing":                                    "ERROR: the program has no probe",
		"config = { dialect = \"0.5\" } BEGIN { @=1; }": "ERROR: there is no dialect",
	} {
		got := runText(t, t.Context(), Options{Text: text})
		if got.code != failed || got.err != nil || got.stdout != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit code %d, %v, %q\n%s\nwant %s", text, got.code, got.err, got.stdout, got.stderr, want)
		}
	}
}

func TestTheProgramDecidesTheExitCode(t *testing.T) {
	got := runText(t, t.Context(), Options{Text: "BEGIN { exit(7); } END { printf(\"end\\n\"); }", Quiet: true})
	if got.code != 7 || got.err != nil || got.stdout != "end\n\n\n" {
		t.Errorf("%+v", got)
	}
}

func TestDialectsPrintTheirWay(t *testing.T) {
	const text = "BEGIN { printf(\"%s 1%%\\n\", probe); @ = stats(3); }"
	for dialect, want := range map[string]string{
		"":        "Attaching 1 probe...\nBEGIN 1%\n\n\n@: count 1, average 3, total 3\n\n",
		"current": "begin 1%\n\n\n@: { .count = 1, .average = 3, .total = 3 }\n",
		"0.17":    "Attaching 1 probe...\nBEGIN 1%%\n\n\n@: count 1, average 3, total 3\n\n",
	} {
		end := text
		if dialect == "0.17" {
			end = strings.Replace(text, "}", "exit(); }", 1) // it waits for Ctrl-C otherwise
		}
		if got := runText(t, t.Context(), Options{Text: end, Dialect: dialect}); got.stdout != want {
			t.Errorf("%q: %q, want %q", dialect, got.stdout, want)
		}
	}
	for text, want := range map[string]string{
		`BEGIN { print(probe) }`:       "BEGIN",
		`begin { print(probe) }`:       "begin",
		`BEGIN, begin { print(probe)}`: "BEGIN\nbegin",
	} {
		if got := runText(t, t.Context(), Options{Text: text, Quiet: true}); strings.TrimSpace(got.stdout) != want {
			t.Errorf("%s prints %q, want %q", text, got.stdout, want)
		}
	}
	own := runText(t, t.Context(), Options{Text: "config = { dialect = \"current\" } " + text})
	if !strings.HasPrefix(own.stdout, "begin") || own.stderr != "Attached 1 probe\n" {
		t.Errorf("config block: %+v", own)
	}
}

func TestAnInterruptedProgramRunsItsEnd(t *testing.T) {
	for name, text := range map[string]string{
		"that waits": "i:s:100 { @ = 2; } END { printf(\"end\\n\"); }",
		"that loops": "BEGIN { while (1) { @++; } } END { clear(@); printf(\"end\\n\"); }",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		got := runText(t, ctx, Options{Text: text, Quiet: true})
		cancel()
		if !strings.HasPrefix(got.stdout, "end\n\n\n") || got.err != nil || got.code != 0 {
			t.Errorf("a program %s: %+v", name, got)
		}
	}
}

func TestAProgramWhoseReaderIsGoneEnds(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), Options{Text: "BEGIN { while (1) { printf(\"x\\n\"); } }", Stdout: w, Stderr: &bytes.Buffer{}})
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%v", err)
	}
}

func TestASignalFiresItsProbe(t *testing.T) {
	const text = "BEGIN { signal(\"SIGUSR1\"); } self:signal:SIGUSR1 { printf(\"signal\\n\"); exit(); }"
	got := runText(t, t.Context(), Options{Text: text, Quiet: true, Unsafe: true})
	if got.stdout != "signal\n\n\n" {
		t.Errorf("%+v", got)
	}
}

func TestMessagesStandInTheOrderOfThePrograms(t *testing.T) {
	const text = `BEGIN { printf("a\n"); system("echo b"); printf("%s, %s, %s\n", strerror(2), signal_name(9), signal_name(40)); cat("/proc/self/comm"); print(username); }`
	got := runText(t, t.Context(), Options{Text: text, Quiet: true, Unsafe: true})
	user := newNames().User(uint64(os.Getuid()))
	if want := "a\nb\nNo such file or directory, SIGKILL, 40\n" + proc.Live.Comm(os.Getpid()) + "\n" + user + "\n\n\n"; got.stdout != want {
		t.Errorf("%q, want %q; %s", got.stdout, want, got.stderr)
	}
}

func TestSystemRunsTheSystemsShell(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sh"), []byte("#!/bin/sh\necho another shell\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	got := runText(t, t.Context(), Options{Text: `BEGIN { system("echo yes"); exit(); }`, Quiet: true, Unsafe: true})
	if want := "yes\n\n\n"; got.stdout != want {
		t.Errorf("%+v, want %q", got, want)
	}
}

func TestCatDoesNotWaitForAWriter(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	text := `BEGIN { cat("` + fifo + `"); printf("after\n"); exit(); }`
	if got := runText(t, t.Context(), Options{Text: text, Quiet: true, Unsafe: true}); got.stdout != "after\n\n\n" {
		t.Errorf("without a writer: %+v", got)
	}
	writer, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if got := runText(t, t.Context(), Options{Text: text, Quiet: true, Unsafe: true}); got.stdout != "after\n\n\n" {
		t.Errorf("with a silent writer: %+v", got)
	}
	if _, err := writer.WriteString("before\n"); err != nil {
		t.Fatal(err)
	}
	if got := runText(t, t.Context(), Options{Text: text, Quiet: true, Unsafe: true}); got.stdout != "before\nafter\n\n\n" {
		t.Errorf("with text: %+v", got)
	}
}

func TestMessagesOfProgramsHaveTheColumnsOfTheirCalls(t *testing.T) {
	got := runText(t, t.Context(), Options{Text: `BEGIN { warnf("%d (of %s)", 1, "a"); errorf("no"); }`, Quiet: true})
	if want := "stdin:1:9-36: WARNING: 1 (of a)\nstdin:1:38-50: ERROR: no\n"; got.stderr != want {
		t.Errorf("%q, want %q", got.stderr, want)
	}
}

func TestOptionsAreThoseThatTheProgramAsksFor(t *testing.T) {
	const text = `begin { print((getopt("n", 5, "how many"), getopt("all"), getopt("word", "x"))); }`
	for _, test := range []struct {
		named     map[string]string
		want, err string
	}{
		{map[string]string{"n": "0xffffffffffffffff", "all": ""}, "(18446744073709551615, true, x)", ""},
		{map[string]string{"n": "-3", "all": "false"}, "(-3, false, x)", ""},
		{map[string]string{"m": "1"}, "", "the program has no option --m; the program's options are:\n  --n=5\thow many\n  --all=false\n  --word=x\t"},
		{map[string]string{"help": ""}, "", "the program's options are:\n  --n=5\thow many\n"},
	} {
		got := runText(t, t.Context(), Options{Text: text, Quiet: true, Strict: true, Named: test.named})
		if strings.TrimSpace(got.stdout) != test.want || (got.err != nil) != (test.err != "") || got.err != nil && !strings.HasPrefix(got.err.Error(), test.err) {
			t.Errorf("%v: %+v", test.named, got)
		}
	}
	if got := runText(t, t.Context(), Options{Text: "begin { print(1); }", Strict: true, Named: map[string]string{"n": "1"}}); got.err == nil {
		t.Errorf("a program without options: %+v", got)
	}
}

func TestAFilterLeavesProbesOut(t *testing.T) {
	const text = `BEGIN { printf("begin\n"); } interval:ms:10 { printf("bad %d\n", @a); exit(); } i:ms:20 { @a = 1; printf("hit\n"); exit(); } END { printf("end\n"); clear(@a); }`
	got := runText(t, t.Context(), Options{Text: text, Quiet: true, ProbeFilter: regexp.MustCompile(":(20|30)$")})
	if want := "begin\nhit\nend\n"; strings.TrimRight(got.stdout, "\n")+"\n" != want || got.code != 0 || got.err != nil {
		t.Errorf("%+v, want %q", got, want)
	}
	got = runText(t, t.Context(), Options{Text: text, Quiet: true, ProbeFilter: regexp.MustCompile("begin")})
	if got.err == nil || !strings.Contains(got.err.Error(), "no probe to attach") {
		t.Errorf("%+v", got)
	}
}

func TestImportsAreFoundBesideTheProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "other.bt"), []byte("BEGIN { printf(\"imported\\n\"); }"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{File: filepath.Join(dir, "main.bt")}, {IncludeDirs: []string{dir}}} {
		o.Text, o.Quiet = "import \"other.bt\"; BEGIN { printf(\"main\\n\"); }", true
		if got := runText(t, t.Context(), o); !strings.Contains(got.stdout, "imported\n") {
			t.Errorf("%+v: %+v", o, got)
		}
	}
}

func TestTestsAndBenchesRun(t *testing.T) {
	const text = `BEGIN { @ = 5; } test:good { print(1); } test:bad { print(@); return 1; } test:wrong { exit(2); }
bench:count { @c[1] = count(); }`
	got := runText(t, t.Context(), Options{Text: text, Test: true, JSON: true})
	lines := strings.Split(got.stdout, "\n")
	for i, want := range []string{`{"good": {"duration": `, `"passed": false, "output": "@: 5\n"}}}`, `"passed": false, "output": ""}}}`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d: %s, want %s", i, lines[i], want)
		}
	}
	if got.code != 1 {
		t.Errorf("exit code %d", got.code)
	}
	got = runText(t, t.Context(), Options{Text: text, Bench: true})
	if !strings.HasPrefix(got.stdout, "Benchmark ") || !strings.Contains(got.stdout, "\ncount     ") {
		t.Errorf("%s", got.stdout)
	}
}

func TestNamesAreThoseOfTheHost(t *testing.T) {
	n := newNames()
	if root := n.User(0); root != "root" {
		t.Errorf("user 0 is %q", root)
	}
	if id := ownCgroup(); id != 0 && !strings.HasPrefix(n.Cgroup(id), "unified:/") {
		t.Errorf("own control group: %q", n.Cgroup(id))
	}
	if off := time.Since(n.Wall(uint64(clock(unix.CLOCK_MONOTONIC)))).Abs(); off > time.Hour {
		t.Errorf("the wall clock is off by %v", off)
	}
}

func TestWhatRunsIsExplained(t *testing.T) {
	got := runText(t, t.Context(), Options{Text: `BEGIN { @a[1, "x"] = (1, "y"); } s:cpu-clock:1000 { @s = sum(1); @u[uid] = kstack; }`, Dump: true})
	want := `map @a[int8, string[2]]: (int8, string[2])
map @s: sum
map @u[uint64]: kstack
BEGIN (stdin:1): ringtap itself
software:cpu-clock:1000 (stdin:1): cpu-clock, one of 1000
    kstack: the kernel stack of the hit
    uint64: /proc, a moment after the hit
`
	if got.stdout != want || got.code != 0 || got.err != nil {
		t.Errorf("%+v\nwant %s", got, want)
	}
}

func TestEnvironmentVariablesAreSettings(t *testing.T) {
	const text = "config = { max_strlen = 100 } BEGIN { print(strftime(\"twelve chars\", nsecs)); printf(\"%s\\n\", kstack); }"
	for _, test := range []struct {
		environ []string
		stderr  string
	}{
		{[]string{"BPFTRACE_STACK_MODE=nonsense"}, "BPFTRACE_STACK_MODE:1:1-2: ERROR: stack_mode is one of bpftrace, perf, raw, build_id\n"},
		{[]string{"BPFTRACE_STRLEN=0"}, "BPFTRACE_STRLEN:1:1-2: ERROR: max_strlen is a number from 1 to 1048576\n"},
		{[]string{"BPFTRACE_LOG_SIZE=x", "STACK_MODE=nonsense", "BPFTRACE_VMLINUX=/nowhere", "="}, ""},
	} {
		got := runText(t, t.Context(), Options{Text: text, Environ: test.environ, Quiet: true, DryRun: true})
		if got.stderr != test.stderr || got.err != nil {
			t.Errorf("%v: %+v, want %q", test.environ, got, test.stderr)
		}
	}
}

func TestCurtaskAtBeginIsRingtapsThread(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		t.Skip("the kernel has no type information (CONFIG_DEBUG_INFO_BTF)")
	}
	text := `begin { print((curtask.comm, curtask.tgid, curtask.real_parent.tgid, curtask.cred.uid.val, curtask.nsproxy.mnt_ns.ns.inum)); let $t : struct task_struct *; $t = curtask; print($t.tgid); print(ppid(curtask) == ppid) }
interval:ms:1 { print(curtask.comm == comm); exit(); }`
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	var namespace unix.Stat_t
	if err := unix.Stat("/proc/self/ns/mnt", &namespace); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("(%s, %d, %d, %d, %d)\n%d\ntrue\ntrue\n", strings.TrimSpace(string(comm)), os.Getpid(), os.Getppid(), os.Getuid(), namespace.Ino, os.Getpid())
	if got := runText(t, t.Context(), Options{Text: text, Quiet: true, Bare: true}); got.stdout != want || got.err != nil {
		t.Errorf("it prints %q, want %q\n%s %v", got.stdout, want, got.stderr, got.err)
	}
}

func TestConstantsOfEnumsHave64Bits(t *testing.T) {
	text := `enum small { ONE = 1 }; enum big { TWO = 2, HUGE = 0x100000000 };
begin { print((sizeof(ONE), sizeof(enum small), sizeof(HUGE), sizeof(enum big), sizeof(TWO))); }`
	if got := runText(t, t.Context(), Options{Text: text, Quiet: true}); strings.TrimSpace(got.stdout) != "(8, 4, 8, 8, 8)" {
		t.Errorf("it prints %q\n%s", got.stdout, got.stderr)
	}
}

func TestASeriesMayHaveAClockOfItsOwn(t *testing.T) {
	text := `begin { @ts = (uint64)1000000000; @a = tseries(5, 100ms, 3); @ts += 200000000; @a = tseries(7, 100ms, 3); clear(@ts); }`
	got := runText(t, t.Context(), Options{Text: text, Quiet: true, JSON: true, Environ: []string{"BPFTRACE_DUMMY_TS_MAP=@ts"}})
	for _, want := range []string{`01.000000000","value":5`, `01.200000000","value":7`} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %s in %s%s", want, got.stdout, got.stderr)
		}
	}
}

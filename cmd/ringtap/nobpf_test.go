package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/scripts"
)

// work is a command that does a little of everything.
var work = []string{"--", "sh", "-c", "i=0; while [ $i -lt 300 ]; do i=$((i+1)); test -e /etc/$i; done; cat /proc/self/stat > /dev/null; ls / > /dev/null"}

// realRuns are short real runs of each command, as a user would type them.
// SELF stands for a Go program. What a kernel does not have ends in an error,
// which is as good a run; wrong usage is none.
var realRuns = map[string][][]string{
	"on-cpu": {
		{"-d", "1", "-i", "1"},
		{"-p", "1", "-d", "1"},
		{"--before", "1", "-d", "1"},
		{"-f", "999", "--unwind", "dwarf", "--out", "OUT/f.folded", "--out", "OUT/f.html", "--out", "OUT/f.pb.gz"},
	},
	"off-cpu":    {{"-d", "1", "-i", "1"}, {"-p", "1", "-d", "1", "--min", "1000"}, {"-u", "on-cpu", "--out", "OUT/f.json"}},
	"io":         {{"-d", "1", "-i", "1"}, {"-p", "1", "-d", "1", "--by", "file"}, {"--by", "type", "off-cpu", "--out", "OUT/f.json"}},
	"llc":        {{"-d", "1"}, {"-P", "1009", "on-cpu", "-p", "1", "-d", "1"}},
	"readahead":  {{"-d", "1", "-i", "1"}, {"-k", "--out", "OUT/f.json"}},
	"memleak":    {{"-d", "1"}, {"--every", "1000", "--older", "0.1", "-W"}, {"-k", "-d", "1"}, {"-p", "1", "-d", "1", "-k", "-u"}},
	"probe":      {{"SELF:runtime.main", "-d", "1"}, {"t:sched:sched_switch", "-d", "1"}, {"vfs_read", "--hist", "-d", "1"}, {"--count", "vfs_read", "-d", "1"}},
	"uprobe":     {{"-d", "1", "p:SELF:runtime.main"}, {"-s", "r:SELF:runtime.main $retval"}, {"-l", "SELF"}, {"-v", "p:SELF:runtime.main"}},
	"kprobe":     {{"-d", "1", "p:vfs_read"}, {"-s", "p:do_sys_openat2 +0($arg2):string"}, {"r:vfs_read $retval"}, {"-l", "vfs_*"}, {"-v", "p:vfs_read"}},
	"tpoint":     {{"-s", "sched:sched_process_exec"}, {"syscalls:sys_enter_openat"}, {"--text", "memory", "syscalls:sys_enter_exec*"}, {"--text", "near", "syscalls:sys_enter_exec*"}, {"-d", "1", "sched:sched_switch", "prev_prio < 100"}, {"-l", "sched:*"}, {"-v", "sched:sched_switch"}},
	"funccount":  {{"-d", "1", "SELF:runtime.m*"}, {"-d", "1", "vfs_*"}, {"-d", "1", "t:sched:*"}},
	"hist":       {{"-d", "1", "SELF:runtime.main"}, {"-d", "1", "vfs_read"}, {"-d", "1", "r:vfs_read $retval"}},
	"functrace":  {{"-d", "1", "vfs_read"}},
	"funcgraph":  {{"-d", "1", "vfs_read"}},
	"funcslower": {{"-d", "1", "vfs_read", "1000"}},
	"run": {
		{"-e", "BEGIN { printf(\"%d\\n\", 1); exit(); }"},
		{"-e", "tracepoint:sched:sched_switch { @[comm, kstack] = count(); } interval:ms:500 { exit(); }"},
		{"-e", "profile:hz:99 { @[ustack] = count(); } uprobe:SELF:runtime.main { @ = hist(arg0); } interval:ms:500 { exit(); }"},
		{"-e", "kprobe:vfs_read { @[probe] = sum(arg2); } interval:ms:500 { exit(); }"},
		{"--list"},
		{"-l", "tracepoint:sched:*"},
	},
	"stackcount":  {{"-d", "0.1", "SELF:runtime.main"}, {"-d", "0.1", "vfs_read"}},
	"funclatency": {{"-d", "0.1", "SELF:runtime.main"}, {"-d", "0.1", "vfs_read"}},
	"trace":       {{"-d", "0.1", "SELF:runtime.main"}, {"-d", "0.1", "vfs_read \"%d\", arg3"}},
	"argdist":     {{"-d", "0.1", "-C", "p:SELF:runtime.main()"}, {"-d", "0.1", "-H", "r::vfs_read()"}},
	"stack":       {{"1"}, {"--all", "--deadlock", "--lines", "1"}, {"--json", "--tree", "1"}},
	"record":      {{"-o", "OUT/perf.data", "-d", "0.5"}, {"-o", "OUT/copies.data", "--no-unwind", "-e", "cpu-clock,sched:sched_switch", "-a", "sleep", "0.2"}},
	"report":      {{"../../internal/profile/read/testdata/default.txt"}, {"--out", "OUT/f.json", "../../internal/profile/read/testdata/fields.txt"}},
	"annotate":    {{"main", "../../internal/profile/read/testdata/default.txt"}},
	"flame":       {{"--out", "OUT/f.html", "--out", "OUT/f.svg", "../../internal/profile/read/testdata/default.txt"}},
	"script":      {{"../../internal/profile/read/testdata/default.txt"}},
	"diff":        {{"../../internal/profile/read/testdata/default.txt", "../../internal/profile/read/testdata/fields.txt"}},
	"list":        {{}, {"sched:*"}},
	"check":       {{}, {"-v"}},
	"completion":  {{"bash"}},
	"reset":       {{}},
	"version":     {{}},
}

// withWork are the commands that take a command to run; what has no -d gets one.
var withWork = map[string]bool{"on-cpu": true, "memleak": true, "off-cpu": true, "io": true, "readahead": true, "llc": true, "probe": true, "uprobe": true, "kprobe": true, "tpoint": true, "hist": true}

// neverFails are the commands that must work on every kernel that has perf.
var neverFails = map[string]bool{"on-cpu": true, "list": true, "check": true, "completion": true, "version": true}

// hostsFail are the commands that fail where others' programs hold what was left.
var hostsFail = map[string]bool{"reset": true}

// bpf(2) is what ringtap does without: neither real work, nor wrong usage, nor
// an ordinary user makes it try. Nor does it need the kernel's type information.
func TestLiveNoCommandCallsBPFOrNeedsBTF(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: the commands watch the whole system")
	}
	self := copyOfSelf(t)
	var usage [][]string // it ends before the kernel is asked for anything
	if testlimit.IsThorough() && !testlimit.Emulated() {
		usage = [][]string{{"--help"}, {"--no-such-flag"}, {"one", "two", "three", "four"}}
	}
	var graphTracer sync.Mutex // Linux before 6.11 has one for all, which is refused to a second
	for _, cmd := range commands() {
		runs, ok := realRuns[cmd.name]
		shipped := !ok && slices.ContainsFunc(scripts.All(), func(p scripts.Program) bool { return p.Name == cmd.name })
		if shipped {
			runs, ok = [][]string{{"--duration", "0.1"}}, true
		}
		// All shipped programs run in one way: of each the program alone is run, and without BTF.
		alike := shipped && !testlimit.IsThorough()
		if !ok {
			t.Errorf("%s is not run: it needs a line in realRuns", cmd.name)
		}
		t.Run(cmd.name, func(t *testing.T) {
			t.Parallel()
			if cmd.name == "funcgraph" || cmd.name == "funcslower" {
				graphTracer.Lock()
				defer graphTracer.Unlock()
			}
			for _, args := range usage {
				if !alike {
					watchCommand(t, 0, self, "ringtap", cmd.name, args)
				}
			}
			for i, args := range runs {
				args = prepare(cmd.name, args, self, t.TempDir())
				// A parameter's name needs types; all else goes on without them.
				without := watchCommand(t, 0, self, "btf-hidden", "ringtap", append([]string{cmd.name}, args...))
				if without.code == exitUsage || neverFails[cmd.name] && without.code != 0 {
					t.Errorf("ringtap %s %q without BTF: exit code %d: %s", cmd.name, args, without.code, without.stderr)
				}
				if alike {
					continue
				}
				w := watchCommand(t, 0, self, "ringtap", cmd.name, args)
				if w.code == exitUsage || neverFails[cmd.name] && w.code != 0 {
					t.Errorf("ringtap %s %q: exit code %d: %s", cmd.name, args, w.code, w.stderr)
				}
				if without.code != w.code && !hostsFail[cmd.name] && !strings.Contains(without.stderr, "BTF") {
					t.Errorf("ringtap %s %q: exit code %d, without BTF %d: %s", cmd.name, args, w.code, without.code, without.stderr)
				}
				if i == 0 { // an ordinary user gets no further with the others
					watchCommand(t, nobody, self, "ringtap", cmd.name, args)
				}
			}
		})
	}
}

// nobody is the user id of an ordinary user.
const nobody = 65534

// watchCommand runs a command of the test's binary with a first word and others, which must not call bpf(2)
// nor break down.
func watchCommand(t *testing.T, uid uint32, self, as, name string, args []string) watch {
	t.Helper()
	w := runWatched(t, uid, self, append([]string{as, name}, args...)...)
	for _, call := range w.calls {
		t.Errorf("%s %s %q as user %d: %s", as, name, args, uid, call)
	}
	if strings.Contains(w.stderr, "goroutine ") {
		t.Errorf("%s %s %q as user %d:\n%s", as, name, args, uid, w.stderr)
	}
	return w
}

// prepare puts names in the places of SELF and OUT, and gives the command work.
func prepare(name string, args []string, self, out string) []string {
	var prepared []string
	for _, arg := range args {
		prepared = append(prepared, strings.NewReplacer("SELF", self, "OUT", out).Replace(arg))
	}
	lists := strings.Contains(" -l -v ", " "+strings.Join(args[:min(len(args), 1)], "")+" ") && len(args) > 0
	if withWork[name] && !lists && !strings.Contains(strings.Join(args, " "), "-p ") {
		prepared = append(prepared, work...)
	}
	return prepared
}

// copyOfSelf makes a copy of this test where everybody can run it.
func copyOfSelf(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ringtap-nobpf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	name := filepath.Join(dir, "program")
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// hideBTF is a program that becomes the one that its arguments name, where there is
// no type information of the kernel.
func hideBTF() {
	runtime.LockOSThread() // the mounts are the thread's, and then the program's
	err := unix.Unshare(unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err == nil {
		err = unix.Mount("none", "/sys/kernel/btf", "tmpfs", 0, "")
	}
	if err == nil || errors.Is(err, unix.ENOENT) { // or the kernel has none
		err = syscall.Exec("/proc/self/exe", os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "btf-hidden:", err)
	os.Exit(125)
}

func TestLiveBTFCanBeHidden(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: an ordinary user cannot mount over it")
	}
	w := runWatched(t, 0, copyOfSelf(t), "btf-hidden", "ringtap", "check", "-v")
	if w.code != 0 || !strings.Contains(w.stdout, "BTF\tmissing: not in this kernel\n") {
		t.Errorf("exit code %d, %s\n%s", w.code, w.stderr, w.stdout)
	}
}

// The first test means something only if a call is noticed.
func TestLiveACallOfBPFIsCaught(t *testing.T) {
	self := copyOfSelf(t)
	for _, test := range []struct {
		name  string
		args  []string
		calls int
	}{
		{"a program", []string{"bpf-caller"}, 1},
		{"a program that a program starts", []string{"bpf-grandparent"}, 1},
		{"a program that does not", []string{"ringtap", "version"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := runWatched(t, 0, self, test.args...)
			if len(w.calls) != test.calls {
				t.Errorf("calls %q, want %d", w.calls, test.calls)
			}
			if test.calls > 0 && w.stdout != "operation not permitted\n" {
				t.Errorf("the call gave %q, want EPERM", w.stdout)
			}
		})
	}
}

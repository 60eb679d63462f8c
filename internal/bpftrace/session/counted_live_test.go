package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// Nobody else on a guest reads links. This process does, too, and is ringtap.
func TestLiveTheKernelCountsTheHitsOfManyFunctions(t *testing.T) {
	needKprobes(t)
	n := testlimit.Calls(calls)
	for i, test := range []struct{ name, text, want string }{
		{"by probe", `kprobe:vfs_* { @[probe] = count(); }`, fmt.Sprintf("\n@[kprobe:vfs_readlink]: %d\n", n)},
		{"by function", `kprobe:vfs_* { @[func] = count(); }`, fmt.Sprintf("\n@[vfs_readlink]: %d\n", n)},
		{"of some", `kprobe:vfs_* / probe == "kprobe:vfs_readlink" / { @twice = sum(2); }`, fmt.Sprintf("\n@twice: %d\n", 2*n)},
		{"returns", `kretprobe:vfs_* { @[probe] = count(); }`, fmt.Sprintf("\n@[kretprobe:vfs_readlink]: %d\n", n)},
		{"looked at meanwhile", `kprobe:vfs_* / func == "vfs_readlink" / { @n = count(); } interval:ms:20 { @sum += (int64)@n; clear(@n); } END { @sum += (int64)@n; }`,
			fmt.Sprintf("\n@sum: %d\n", n)},
		{"beside others", `kprobe:vfs_* { @[probe] = count(); } kprobe:vfs_readlink { @one = count(); } tracepoint:syscalls:sys_enter_readlinkat / pid == $1 / { @calls = count(); }`,
			fmt.Sprintf("\n@[kprobe:vfs_readlink]: %d\n", n)},
	} {
		if !testlimit.Case(i, 2) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			out, books := countedBeside(t, fewer(test.text))
			if !strings.Contains(out, test.want) {
				t.Errorf("not %q, but\n%s", test.want, out)
			}
			if !strings.Contains(books, ": 0 received, 0 lost, ") {
				t.Errorf("no event is counted:\n%s", books)
			}
		})
	}
}

// fewer has a program probe a dozen functions where it says vfs_*, which are a hundred,
// unless it need not be quick. The kernel counts them as it does a hundred.
func fewer(text string) string {
	if testlimit.Emulated() && !testlimit.IsThorough() {
		return strings.ReplaceAll(text, "vfs_*", "vfs_[lmr]*")
	}
	return text
}

func TestLiveAProgramThatIsOverCountsNothing(t *testing.T) {
	needKprobes(t)
	for i, text := range []string{
		`BEGIN { exit(); } kprobe:vfs_* { @[probe] = count(); }`,
		`kprobe:vfs_* { @[probe] = count(); } interval:ms:50 { clear(@); exit(); }`,
	} {
		if !testlimit.Case(i, 2) {
			continue
		}
		var out, stderr bytes.Buffer
		if _, err := Run(t.Context(), Options{Text: fewer(text), Quiet: true, Stdout: &out, Stderr: &stderr}); err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
		if got := strings.Trim(out.String(), "\n"); got != "" {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// countedBeside runs a program beside the reader, whose process is its $1. This process reads
// links before the reader does.
func countedBeside(t *testing.T, text string) (out, books string) {
	t.Helper()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	reader := exec.Command("/proc/self/exe", "-test.run=^TestReader$")
	reader.Env = append(os.Environ(), "SESSION_CALLER=1")
	start, err := reader.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Process.Kill() }()
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	stdout := &awaited{text: "ready\n", then: func() {
		for range 10 {
			_, _ = unix.Readlink(link, make([]byte, 10))
		}
		start.Close()
		go func() {
			_ = reader.Wait()
			cancel()
		}()
	}}
	var stderr bytes.Buffer
	_, err = Run(ctx, Options{Text: "BEGIN { printf(\"ready\\n\"); } " + text, Params: []string{fmt.Sprint(reader.Process.Pid)},
		Quiet: true, Verbose: true, Stdout: stdout, Stderr: &stderr})
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	return stdout.String(), stderr.String()
}

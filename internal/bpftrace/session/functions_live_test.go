package session

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/host/btf"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// oneRead is how many bytes the reader reads at once, which nothing else in its process does.
const oneRead = 97

// TestReader is the program whose calls in the kernel the live tests trace: when its standard
// input ends it opens, reads and syncs a file, so many times each.
func TestReader(t *testing.T) {
	if os.Getenv("SESSION_CALLER") == "" {
		t.Skip("this is a program of the live tests")
	}
	file := filepath.Join(t.TempDir(), "known-of-the-tests")
	if err := os.WriteFile(file, make([]byte, oneRead), 0o600); err != nil {
		t.Fatal(err)
	}
	link, name := file+".link", make([]byte, len(file))
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(os.Stdin)
	for range testlimit.Calls(calls) {
		fd, err := unix.Open(file, unix.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := unix.Pread(fd, make([]byte, oneRead), 0); n != oneRead {
			t.Fatal(n, err)
		}
		_, _ = unix.Readlink(link, name)
		_ = unix.Close(fd)
	}
}

// needKprobes skips a test on a kernel without them.
func needKprobes(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: kprobes")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	if !tracefs.Has("kprobe_events") {
		t.Skip("kprobe_events: the kernel is built without CONFIG_KPROBE_EVENTS")
	}
}

// hasTypes reports whether the kernel has type information.
func hasTypes() bool {
	_, err := os.Stat(btf.Dir + "/vmlinux")
	return err == nil
}

func TestLiveProgramsAskWhetherTheKernelTellsOfItsTypes(t *testing.T) {
	want := "no\n"
	if hasTypes() {
		want = "yes\n"
	}
	text := "#ifdef BPFTRACE_HAVE_BTF\nBEGIN { printf(\"yes\\n\"); exit(); }\n#else\nBEGIN { printf(\"no\\n\"); exit(); }\n#endif\n"
	if got := runText(t, t.Context(), Options{Text: text, Quiet: true, Bare: true}); got.stdout != want {
		t.Errorf("%q, want %q\n%s", got.stdout, want, got.stderr)
	}
}

// vfs_readlink is called from another file of the kernel's source, so that no compiler can have put
// it into its caller.
func TestLiveKernelFunctionsFire(t *testing.T) {
	needKprobes(t)
	n := testlimit.Calls(calls)
	for _, test := range []struct{ name, text, want string }{
		{"pattern", `kprobe:vfs_* / pid == $1 / { @[probe] = count(); }`, fmt.Sprintf("@[kprobe:vfs_readlink]: %d\n", n)},
		{"function", `kprobe:vfs_readlink / pid == $1 / { @[func, comm] = count(); }`, fmt.Sprintf("@[vfs_readlink, exe]: %d\n", n)},
		{"function kept", `kprobe:vfs_readlink, kprobe:vfs_open / pid == $1 / { @name[tid] = func; } kretprobe:vfs_readlink, kretprobe:vfs_open / pid == $1 /
			{ if (@name[tid] == func && func != ksym(0)) { @[@name[tid], str(func), strlen(func)] = count(); } }`, fmt.Sprintf("@[vfs_readlink, vfs_readlink, 12]: %d\n", n)},
		{"function by name", `kprobe:vfs_readl* / pid == $1 && func == "vfs_readlink" / { @ = count(); }`, fmt.Sprintf("@: %d\n", n)},
		{"return", `kretprobe:vfs_read / pid == $1 / { @[retval] = count(); }`, fmt.Sprintf("@[%d]: %d\n", oneRead, n)},
		{"arguments", `kprobe:vfs_read / pid == $1 && arg2 == 97 / { @ = count(); }`, fmt.Sprintf("@: %d\n", n)},
		{"pair", `kprobe:vfs_read / pid == $1 && arg2 == 97 / { @start[tid] = nsecs; } kretprobe:vfs_read / @start[tid] / { @ = count(); @took[nsecs >= @start[tid]] = count(); delete(@start[tid]); }`,
			fmt.Sprintf("@: %d\n", n)},
		{"kernel itself", `kprobe:vmlinux:vfs_readlink / pid == $1 / { @ = count(); }`, fmt.Sprintf("@: %d\n", n)},
		{"stack", `kprobe:vfs_readlink / pid == $1 / { @[kstack(1)] = count(); }`, fmt.Sprintf("]: %d\n", n)},
	} {
		t.Run(test.name, func(t *testing.T) {
			wants(t, fewer(test.text), test.want)
		})
	}
}

func TestLiveKernelTypesLeadThroughPointers(t *testing.T) {
	needKprobes(t)
	if !hasTypes() {
		t.Skip("CONFIG_DEBUG_INFO_BTF")
	}
	n := testlimit.Calls(calls)
	for _, test := range []struct{ name, text, want string }{
		{"argument by name", `kfunc:vfs_read / pid == $1 / { @[args.count] = count(); }`, fmt.Sprintf("@[%d]: %d\n", oneRead, n)},
		{"older spelling", `kfunc:vfs_read / pid == $1 / { @[args->count] = count(); }`, fmt.Sprintf("@[%d]: %d\n", oneRead, n)},
		{"argument at the return", `kretfunc:vfs_read / pid == $1 / { @[args.count, retval] = count(); }`, fmt.Sprintf("@[%d, %[1]d]: %d\n", oneRead, n)},
		{"argument beside its entry", `fentry:vfs_read { @all = count(); } fexit:vmlinux:vfs_read / pid == $1 / { @[args.count, retval] = count(); }`,
			fmt.Sprintf("@[%d, %[1]d]: %d\n", oneRead, n)},
		{"cast", `kprobe:vfs_open / pid == $1 / { @[str(((struct path *)arg0)->dentry->d_name.name)] = count(); }`, fmt.Sprintf("@[known-of-the-tests]: %d\n", n)},
		{"a whole struct", `fentry:vfs_open / pid == $1 / { print(*args.path); }`, "{ .mnt = 0x"},
		{"the result at a pattern", `fexit:vfs_rea[d] / pid == $1 / { @[retval] = count(); }`, fmt.Sprintf("@[%d]: %d\n", oneRead, n)},
		{"chain by name", `fentry:vfs_open / pid == $1 / { @[str(args.path->dentry->d_name.name), args.path->dentry->d_inode->i_size] = count(); }`,
			fmt.Sprintf("@[known-of-the-tests, %d]: %d\n", oneRead, n)},
	} {
		t.Run(test.name, func(t *testing.T) {
			wants(t, test.text, test.want)
		})
	}
}

// wants runs a program beside the reader and looks for a text in what it prints.
func wants(t *testing.T, text, want string) {
	t.Helper()
	if out := tracedBy(t, "TestReader", "begin { printf(\"ready\\n\"); } "+text); !strings.Contains(out, want) {
		t.Errorf("not %q, but\n%s", want, out)
	}
}

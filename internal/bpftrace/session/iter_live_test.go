package session

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/process"
)

// standing is a process that waits for its standard input with a file open as its descriptor 3, of which
// it has seen 7 bytes.
func standing(t *testing.T) (pid int, file *os.File) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: the files of all processes")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "open"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	if _, err := file.WriteString("7 bytes"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestCaller$")
	cmd.Env = append(os.Environ(), "SESSION_CALLER=1")
	cmd.ExtraFiles = []*os.File{file}
	end, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end.Close()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid, file
}

// iterated runs a program of iterators and returns its lines that begin with a number.
func iterated(t *testing.T, text string, number int) []string {
	t.Helper()
	var out, stderr bytes.Buffer
	if _, err := Run(t.Context(), Options{Text: text, Quiet: true, Bare: true, Stdout: &out, Stderr: &stderr}); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	return regexp.MustCompile(fmt.Sprintf(`(?m)^%d .*$`, number)).FindAllString(out.String(), -1)
}

// needTypes skips a test where the kernel's structs are not known.
func needTypes(t *testing.T) {
	t.Helper()
	if !hasTypes() {
		t.Skip("CONFIG_DEBUG_INFO_BTF")
	}
}

func TestLiveIteratorsListWhatProcDoes(t *testing.T) {
	needTypes(t)
	pid, file := standing(t)
	host := process.Host{}
	for _, test := range []struct {
		name, text string
		proc       func() []string
	}{
		{"tasks", `iter:task { printf("%d %d %d %s\n", ctx.task.tgid, ctx.task.pid, ctx->task->real_parent->tgid, ctx.task.comm); }`, func() (list []string) {
			threads, _ := host.Threads(pid)
			for _, tid := range threads {
				list = append(list, fmt.Sprintf("%d %d %d %s", pid, tid, os.Getpid(), host.Comm(tid)))
			}
			return list
		}},
		{"files", `iter:task_file { printf("%d %d %s\n", ctx.task.pid, ctx.fd, path(ctx.file.f_path)); }`, func() (list []string) {
			descriptors, _ := host.Descriptors(pid)
			for _, fd := range descriptors {
				path, _ := os.Readlink(host.DescriptorPath(pid, fd))
				list = append(list, fmt.Sprintf("%d %d %s", pid, fd, path))
			}
			return list
		}},
		{"mappings", `iter:task_vma { printf("%d %lx-%lx %s\n", ctx.task.pid, ctx.vma.vm_start, ctx.vma.vm_end, path(ctx.vma.vm_file.f_path)); }`, func() (list []string) {
			_ = host.Areas(pid, func(a *process.Area) bool {
				if int64(a.Start) > 0 {
					list = append(list, fmt.Sprintf("%d %x-%x %s", pid, a.Start, a.End, a.Path))
				}
				return true
			})
			return list
		}},
	} {
		before := test.proc()
		got := iterated(t, test.text, pid)
		for !slices.Equal(test.proc(), before) { // its runtime has begun a thread, or mapped something
			before = test.proc()
			got = iterated(t, test.text, pid)
		}
		if !slices.Equal(got, before) || len(got) < 3 {
			t.Errorf("the %s are\n%s\n/proc says\n%s", test.name, strings.Join(got, "\n"), strings.Join(before, "\n"))
		}
	}
	got := iterated(t, `iter:task_file / ctx.fd == 3 / { printf("%d %d %d\n", ctx.task.pid, ctx.file.f_pos, ctx.file.f_inode.i_ino); }`, pid)
	if want := fmt.Sprintf("%d 7 %d", pid, inode(file.Name())); !slices.Equal(got, []string{want}) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What /proc does not have, or elsewhere: the flags of a thread, the name of a file's directory, how many
// mappings a process has.
func TestLiveIteratorsReadAnyMember(t *testing.T) {
	needTypes(t)
	needKernelMemory(t)
	pid, file := standing(t)
	flags := func() string {
		text, err := process.Host{}.Read(pid, "stat")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := bytes.Cut(text, []byte(") "))
		return strings.Fields(string(rest))[6]
	}
	const members = `iter:task { $t = ctx.task; printf("%d %d %s\n", $t.pid, $t.flags, $t.mm.exe_file.f_path.dentry.d_parent.d_name.len > 0 ? "named" : ""); }`
	before := flags()
	got := iterated(t, members, pid)
	for flags() != before { // execve(2) was still setting them
		before = flags()
		got = iterated(t, members, pid)
	}
	if want := fmt.Sprintf("%d %s named", pid, before); !slices.Contains(got, want) {
		t.Errorf("no %q, but\n%s", want, strings.Join(got, "\n"))
	}
	got = iterated(t, `iter:task_file / ctx.fd == 3 / { $d = ctx.file.f_path.dentry; printf("%d %s %s\n", ctx.task.tgid, str($d.d_name.name), str($d.d_parent.d_name.name)); }`, pid)
	if want := fmt.Sprintf("%d open %s", pid, filepath.Base(filepath.Dir(file.Name()))); !slices.Equal(got, []string{want}) {
		t.Errorf("%q, want %q", got, want)
	}
	got = iterated(t, `iter:task_vma { $v = ctx.vma; printf("%d %d %d\n", ctx.task.tgid, $v.vm_mm.map_count, $v.vm_mm == ctx.task.mm); }`, pid)
	if want := fmt.Sprintf("%d %d 1", pid, len(got)); slices.Compact(got)[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
}

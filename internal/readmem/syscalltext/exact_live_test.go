package syscalltext_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/readmem/syscalltext"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/trace"
	"github.com/ringtap/ringtap/perfevent"
)

// asReuser makes this test the program that opens names from one buffer.
const asReuser = "reuser"

const reused = 5000

// reuseBuffer opens names as fast as it can, each from the same memory, so that what is read
// later is another name.
func reuseBuffer() {
	runtime.LockOSThread()
	name := new([64]byte)
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	_, _ = in.ReadString('\n')
	for i := range reused {
		copy(name[:], fmt.Sprintf(nameForm, asReuser, i))
		_, _, _ = unix.Syscall(unix.SYS_READLINKAT, ^uintptr(0), uintptr(unsafe.Pointer(name)), 0)
	}
	fmt.Println("done")
	_, _ = in.ReadString('\n')
}

// What is shown as exact is what the call was given.
func TestLiveNamesFromOneBufferAreExactOrMarked(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints are root's")
	}
	lines := followProgram(t, syscalltext.Near, "syscalls:sys_enter_readlinkat", "", asReuser)
	exact, late, wrong := 0, 0, 0
	all := regexp.MustCompile(`(?m)sys_readlinkat\(dfd: 0xffffffffffffffff, pathname: 0x[0-9a-f]+(.*)"/nonexistent/reuser/(\d+)"`).FindAllStringSubmatch(lines, -1)
	for i, match := range all {
		switch right := match[2] == fmt.Sprintf("%04d", i); {
		case match[1] == " ~":
			late++
		case right:
			exact++
		default:
			wrong++
		}
	}
	t.Logf("%d of %d exact, %d late, %d wrong", exact, len(all), late, wrong)
	if exact == 0 || wrong > 0 && len(all) == reused {
		t.Errorf("%d exact, %d wrong", exact, wrong)
	}
}

// The names of programs that are started and of files that are opened once, on a host that is
// busy with nothing else.
func TestLiveNamesOfShortLivedProcessesAreExactOrMarked(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints are root's")
	}
	for _, test := range []struct {
		call string
		run  func(name string) *exec.Cmd
	}{
		{"execve", func(name string) *exec.Cmd { return exec.Command("/bin/sh", "-c", "exec "+name) }},
		{"openat", func(name string) *exec.Cmd { return exec.Command("cat", name) }},
	} {
		t.Run(test.call, func(t *testing.T) {
			dir := t.TempDir()
			n := testlimit.Calls(300)
			for i := range n {
				if err := os.Symlink("/bin/true", filepath.Join(dir, fmt.Sprint("a", i))); err != nil {
					t.Fatal(err)
				}
			}
			lines := followHost(t, "syscalls:sys_enter_"+test.call, func() {
				for i := range n {
					_ = test.run(filepath.Join(dir, fmt.Sprint("a", i))).Run()
				}
			})
			exact, late := 0, 0
			for i := range n {
				name := fmt.Sprintf("%q", filepath.Join(dir, fmt.Sprint("a", i)))
				switch {
				case regexp.MustCompile(`filename: 0x[0-9a-f]+ ` + name).MatchString(lines):
					exact++
				case strings.Contains(lines, "~"+name):
					late++
				}
			}
			t.Logf("of %d names %d exact, %d late, %d missing", n, exact, late, n-exact-late)
			if exact == 0 {
				t.Error("no name is exact")
			}
		})
	}
}

// followHost returns the lines of a tracepoint while work is done.
func followHost(t *testing.T, tracepoint string, work func()) string {
	t.Helper()
	tracefs, err := ftrace.Find()
	if err != nil {
		t.Skip(err)
	}
	set, err := probe.Open(&probe.Spec{Place: probe.Tracepoint, Probe: tracepoint}, probe.Options{})
	if err != nil {
		t.Skip(err)
	}
	how := syscalltext.Options{Tracefs: tracefs, Method: syscalltext.Near, Near: true}
	texts, err := syscalltext.Attach(set.Sources, how)
	if err != nil {
		t.Fatal(err)
	}
	if err := texts.Start(perfevent.System()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	var lines bytes.Buffer
	_, err = trace.Run(ctx, trace.Options{Sources: texts.Sources, Seen: texts.Seen(), Urgent: true, Aside: texts.ExtraEvents, Helper: texts.Helper(), Out: &lines,
		Armed: func() {
			go func() {
				work()
				cancel()
			}()
		}})
	if err != nil {
		t.Fatal(err)
	}
	if err := texts.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("of all %d texts %d late, %d missing", texts.Texts, texts.Late, texts.Missing)
	return lines.String()
}
